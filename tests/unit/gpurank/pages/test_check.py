"""The check of pages finds what a publisher of derived numbers must not leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_pages import CLUSTER, COMMIT, LAW, entry, page

from gpurank.answers.notes import TRADEMARK, UNVERIFIED, Source, footnotes
from gpurank.pages.check import footnote_gaps, page_faults, page_requests
from gpurank.pages.report.benchmark_page import page_html


def without(text: str, figure: str, planted: str) -> str:
    """Returns the page with some text missing from the footnote of one figure only."""
    start = text.index(f'id="{figure}-figure"')
    end = text.index("</figure>", start)
    return text[:start] + text[start:end].replace(planted, "") + text[end:]


@pytest.mark.parametrize(
    ("planted", "gap"),
    [
        (UNVERIFIED, "not verified"),
        (TRADEMARK, "trademark"),
        ("MLPerf® Training v4.0; ", "suite and version"),
        ("closed division; ", "division"),
        (" on 2026-01-02", "retrieval date"),
        (f"@{COMMIT[:12]}", "commit"),
        ("(derived, not an official metric)", "derived"),
    ],
)
def test_each_omission_from_a_footnote_is_found(planted: str, gap: str) -> None:
    text = page_html(page([entry(0), entry(1)]))
    assert not page_faults(text)
    faults = page_faults(without(text, "ranking", planted))
    assert any("ranking" in fault and gap in fault for fault in faults)


@pytest.mark.parametrize(
    "name", ["answers", "plane-chart", "waiting", "efficiency-chart", "clusters", "sources"]
)
def test_every_figure_of_a_page_is_checked(name: str) -> None:
    text = page_html(page([entry(0)], clusters=(CLUSTER,), law=LAW))
    assert page_faults(without(text, name, UNVERIFIED)) == (
        f"{name}-figure: the footnote lacks that MLCommons has not verified it",
    )


def test_a_figure_that_shows_other_rounds_must_name_them_in_its_footnote() -> None:
    """The software of a list is compared with that of an earlier round."""
    pair = {
        "submitter": "Acme", "accelerator": "H100", "accelerator_count": 8, "speedup": 1.1,
        "from_round_id": "v3.0", "to_round_id": "v4.0", "from_score_min": 11.0,
        "to_score_min": 10.0, "to_result_id": "v4.0/Acme/n/resnet",
    }  # fmt: skip
    both = tuple(Source(name, COMMIT, "2026-01-02") for name in ("v3.0", "v4.0"))
    complete = page([entry(0)], software=(pair,), all_sources=both)
    assert not page_faults(page_html(complete))
    assert page_faults(page_html(replace(complete, all_sources=()))) == (
        "software-figure: it shows v3.0, its footnote does not",
    )


def test_bare_tables_and_requests_are_found() -> None:
    text = page_html(page([entry(0)]))
    bare = text.replace("</main>", "<table><tr><td>1</td></tr></table></main>")
    assert page_faults(bare) == ("a table stands outside a figure, so it has no footnote",)
    for planted, fault in (
        ('<img src="https://example.org/x.png">', "makes the page fetch"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "loads"),
        ("<style>@import 'x.css';</style>", "style sheet"),
        ("<style>p { background: url(https://example.org/x.png) }</style>", "style sheet"),
    ):
        loading = text.replace("</main>", f"{planted}</main>")
        assert fault in page_requests(loading)[0] and page_requests(loading)[0] in page_faults(
            loading
        )


def test_every_footnote_of_this_program_is_complete() -> None:
    source = Source("v4.0", COMMIT, "2026-01-02")
    assert not footnote_gaps(" ".join(footnotes("resnet", [source])))
    several = footnotes(None, [source, Source("v5.0", None, None)], ["open"])
    assert not footnote_gaps(" ".join(several))
    assert footnote_gaps("a table of numbers")
