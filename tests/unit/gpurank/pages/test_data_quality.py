"""The data quality page: sums that a reader can check, examples that can do no harm."""

from __future__ import annotations

import re
from typing import Any

from gpurank.pages.check import page_requests
from gpurank.pages.data_quality import Quality, quality_page

ROUND: dict[str, Any] = {
    "round_id": "v4.0", "source_commit": "a" * 40, "folder_count": 1203, "result_count": 1202,
    "quarantined_count": 1, "scored_count": 1201, "throughput_count": 1200,
    "independent_count": 1100, "ranked_count": 1002, "unranked_count": 200,
}  # fmt: skip
FIGURES: list[dict[str, Any]] = [
    {"topic": "issue", "name": "score_missing", "level": "error", "row_count": 3,
     "example": "no_logs", "example_file": "A/results/x y+z/bert/result_0.txt"},
    {"topic": "issue", "name": "clock", "level": "warning", "row_count": 7,
     "example": "<script>alert(1)</script>", "example_file": None},
    {"topic": "issue", "name": "clock", "level": "info", "row_count": 11, "example": "",
     "example_file": None},
    {"topic": "quarantine", "name": "nested & lost", "level": "error", "row_count": 1,
     "example": None, "example_file": "A/results/s/bert/old"},
    {"topic": "unranked", "name": "open division", "level": "info", "row_count": 200,
     "example": None, "example_file": "v4.0/A/s/bert"},
]  # fmt: skip


def page(**changes: Any) -> str:
    figures = [{"round_id": "v4.0"} | figure for figure in FIGURES]
    spellings = [
        {"round_id": "v4.0", "kind": "unresolved_accelerator", "row_count": 2,
         "message": "accelerator 'H1OO' is not known; closest is H100", "source_file": "A/s.json"}
    ]  # fmt: skip
    rows = Quality([ROUND | changes], figures, spellings, [])
    return quality_page(rows)


def cells(html: str, first: str) -> list[str]:
    """The texts of the table row whose heading holds some text."""
    (row,) = [row for row in re.findall(r"<tr>.*?</tr>", html) if first in row.split("</th>")[0]]
    return [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]


def test_counts_of_a_round_stand_in_one_row() -> None:
    row = cells(page(), "#v4.0")
    assert row[:9] == ["v4.0", "1,203", "1,202", "1", "1,201", "1,200", "1,100", "1,002", "200"]
    assert row[9:12] == ["3", "7", "11"]


def test_the_verdict_is_the_sums() -> None:
    assert "Every folder is accounted for." in page()
    assert "The counts do not add up in v4.0" in page(result_count=1201)
    assert "The counts do not add up in v4.0" in page(unranked_count=199)


def test_each_kind_has_its_count_and_one_example_with_its_place() -> None:
    html = page()
    assert cells(html, "score_")[:3] == ["score_missing", "error", "3"]
    assert f"blob/{'a' * 40}/A/results/x%20y%2Bz/bert/result_0.txt" in html
    assert cells(html, "open division") == ["open division", "note", "200", "v4.0/A/s/bert"]
    assert cells(html, "nested")[0] == "nested &amp; lost"
    assert "H1OO" in html


def test_what_strangers_filed_is_escaped_and_nothing_is_loaded() -> None:
    html = page(source_commit=None, round_id="v9.9")
    # The page's own script is the only one.
    assert html.count("<script") == 1 and "&lt;script&gt;alert" in page()
    assert not page_requests(html)
    assert html.startswith("<!doctype html>")


def test_an_empty_warehouse_and_clean_spellings_are_said() -> None:
    html = quality_page(Quality([], [], [], []))
    assert "0 rounds" in html
    assert "No issues." in quality_page(Quality([ROUND], [], [], []))
    assert "Every filed name was resolved." in html
