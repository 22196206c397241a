"""The report's pages: escaped, self-contained, deterministic, with a footnote on all they show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_pages import COMMIT, entry, page

from gpurank.answers.notes import TRADEMARK, UNVERIFIED, Source, footnotes
from gpurank.pages.footnote_check import missing
from gpurank.pages.report.charts import pareto_front
from gpurank.pages.report.index import index_html
from gpurank.pages.report.lint import faults
from gpurank.pages.report.page import page_html
from gpurank.pages.report.payload import embedded, payload
from gpurank.pages.report.words import (
    benchmark_name,
    cluster_card,
    cluster_firmness,
    headline,
    number,
    share,
    short,
)
from gpurank.store.embargo import held
from tasks.outputs import report as task

HOSTILE = "</script><script>alert(1)</script> & \"q\" 'a' \u2028 <!--"
CLUSTER = {
    "cluster_label": 1, "name": "single-server H100, best efficiency", "member_count": 2,
    "median_score_min": 10.5, "median_accelerator_count": 8.0,
    "median_accelerator_minutes": 84.0, "accelerator_minutes_ratio": 1.0, "share_4_to_16": 1.0,
    "leading_families": "H100 2", "reason": None,
}  # fmt: skip
LAW = {
    "row_count": 40, "submitter_count": 6, "half_count": 100.0, "exponent": 1.0, "reason": None,
    "efficiency_64": 0.66, "efficiency_64_low": 0.6, "efficiency_64_high": 0.7,
    "efficiency_512": None, "efficiency_512_low": None, "efficiency_512_high": None,
}  # fmt: skip


class Texts(HTMLParser):
    """Text of a page and the names of its script elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_filed_text_stays_text() -> None:
    rows = [
        entry(0, system_name=HOSTILE, submitter=HOSTILE, accelerator=HOSTILE, host_cpu=HOSTILE),
        entry(1, availability=HOSTILE, cluster_label=1, cluster_name=HOSTILE),
    ]
    made = page_html(page(rows, left_out=({"reason": HOSTILE, "result_count": 1},)))
    found = Texts(made)
    assert found.tags.count("script") == 2
    assert "alert" not in re.sub(r"<[^>]*>", "", made.split("<script>")[1])
    assert any("<script>alert(1)</script>" in text for text in found.texts)
    data = next(text for text in found.texts if text.startswith('{"lambda"'))
    assert json.loads(data)["rows"][0]["y"] == HOSTILE
    assert not faults(made)


def test_embedded_json_cannot_end_its_element() -> None:
    text = embedded({"x": HOSTILE + "\u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"x": HOSTILE + "\u2029"}


def test_numbers_reach_the_browser_exactly() -> None:
    time = 0.1 + 0.2
    made = json.loads(embedded(payload(page([entry(0, score_min=time)]))))
    assert made["rows"][0]["t"] == time


def test_a_page_is_the_same_bytes_each_time_and_a_whole_one() -> None:
    rows = [entry(place, cluster_label=1, cluster_name="one") for place in range(3)]
    first = page_html(page(rows, clusters=(CLUSTER,), law=LAW))
    assert first == page_html(page(rows, clusters=(CLUSTER,), law=LAW))
    assert not faults(first)
    assert first.count("<figure") == first.count('class="notes"') >= 6
    assert not re.search(r'(src|href)="(?:https?:)?//(?!github\.com/)', first)


def test_what_cannot_be_shown_says_why() -> None:
    short_of = {"cluster_label": None, "reason": "3 rows, 30 needed"}
    made = page_html(page([entry(0)], clusters=(short_of,), law=LAW | {"reason": "3 rows"}))
    assert "has no clusters: 3 rows, 30 needed" in made
    assert "No fleet law could be fitted: 3 rows" in made
    assert "no fleet law for this benchmark" in page_html(page([entry(0)]))


@pytest.mark.parametrize(
    ("planted", "told"),
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
def test_the_linter_finds_a_planted_omission(planted: str, told: str) -> None:
    whole = page_html(page([entry(0), entry(1)]))
    assert not faults(whole)
    # Out of one footnote only, the ranking's: the others are whole.
    start = whole.index('id="ranking-figure"')
    end = whole.index("</figure>", start)
    broken = whole[:start] + whole[start:end].replace(planted, "") + whole[end:]
    assert any("ranking" in fault and told in fault for fault in faults(broken))


def test_what_shows_other_rounds_names_them_in_its_footnote() -> None:
    """The software of a list is compared with that of an earlier round."""
    gained = {
        "submitter": "Acme", "accelerator": "H100", "accelerator_count": 8, "speedup": 1.1,
        "from_round_id": "v3.0", "to_round_id": "v4.0", "from_score_min": 11.0,
        "to_score_min": 10.0, "to_result_id": "v4.0/Acme/n/resnet",
    }  # fmt: skip
    both = tuple(Source(name, COMMIT, "2026-01-02") for name in ("v3.0", "v4.0"))
    whole = page([entry(0)], software=(gained,), all_sources=both)
    assert not faults(page_html(whole))
    (fault,) = faults(page_html(replace(whole, all_sources=())))
    assert fault == "software-figure: it shows v3.0, its footnote does not"


@pytest.mark.parametrize("name", ["answers", "plane-chart", "waiting", "efficiency-chart",
                                  "clusters", "sources"])  # fmt: skip
def test_the_linter_reads_every_figure_of_a_page(name: str) -> None:
    whole = page_html(page([entry(0)], clusters=(CLUSTER,), law=LAW))
    start = whole.index(f'id="{name}-figure"')
    end = whole.index("</figure>", start)
    broken = whole[:start] + whole[start:end].replace(UNVERIFIED, "") + whole[end:]
    assert faults(broken) == (
        f"{name}-figure: the footnote lacks that MLCommons has not verified it",
    )


def test_the_linter_finds_bare_tables_and_requests() -> None:
    whole = page_html(page([entry(0)]))
    bare = whole.replace("</main>", "<table><tr><td>1</td></tr></table></main>")
    assert any("outside a figure" in fault for fault in faults(bare))
    loading = whole.replace("</main>", '<img src="https://example.org/x.png"></main>')
    assert any("fetch" in fault for fault in faults(loading))
    styled = whole.replace("<style>", "<style>@import 'x.css';")
    assert any("style sheet" in fault for fault in faults(styled))


def test_the_index_links_each_list_and_carries_the_footnote() -> None:
    one = page([entry(0)])
    both = replace(one, key=replace(one.key, round_id=None))
    made = index_html((both, one))
    assert 'href="resnet-v4.0.html"' in made and 'href="resnet-pooled.html"' in made
    assert not faults(made)


def test_every_footnote_of_ours_is_complete() -> None:
    known = Source("v4.0", COMMIT, "2026-01-02")
    assert not missing(" ".join(footnotes("resnet", [known])))
    assert not missing(" ".join(footnotes(None, [known, Source("v5.0", None, None)], ["open"])))
    assert missing("a table of numbers")


def test_the_front_holds_what_nothing_beats() -> None:
    points = [(8, 10.0), (8, 9.0), (16, 9.0), (16, 5.0), (4, 30.0), (64, 5.0), (128, 1.0)]
    assert pareto_front(points) == [(4, 30.0), (8, 9.0), (16, 5.0), (128, 1.0)]


def test_clusters_are_told_in_plain_words() -> None:
    said = cluster_card(CLUSTER)
    assert "All of them have 4 to 16 accelerators." in said and "fewest of all clusters" in said
    none = cluster_card(CLUSTER | {"share_4_to_16": 0.0, "accelerator_minutes_ratio": 7.5})
    assert "None of them has 4 to 16" in none and "7.5 times what the thriftiest" in none
    assert cluster_firmness([CLUSTER]) == ""
    firm = [CLUSTER | {"jaccard": value} for value in (0.9, 0.84)]
    assert cluster_firmness(firm) == (
        "The 2 groups are firm: drawn anew, each comes back by 84\u00a0% or more."
    )
    weak = cluster_firmness([*firm, CLUSTER | {"jaccard": 0.72}])
    assert "not all firm" in weak and "1 of them comes back by less than 75\u00a0%" in weak


def test_numbers_in_words() -> None:
    assert [number(v) for v in (0.6, 12.345, 179.546, 12345.6, 4096, None)] == [
        "0.600", "12.35", "179.5", "12,346", "4,096", "–",
    ]  # fmt: skip
    assert [short(v) for v in (8.0, 6.571, 183.6, 1770.4)] == ["8", "6.57", "184", "1,770"]
    assert [share(v) for v in (0.0, 0.001, 0.74, 0.999, 1.0)] == [
        "0\u00a0%", "under 1\u00a0%", "74\u00a0%", "over 99\u00a0%", "100\u00a0%",
    ]  # fmt: skip
    assert benchmark_name("resnet") == "ResNet-50 (image classification)"
    assert benchmark_name("new_one") == "new_one"


def test_the_headline_says_who_and_how_sure() -> None:
    rows = [entry(0, tie_group=1), entry(1, tie_group=1), entry(2, tie_group=2)]
    assert headline(page(rows)) == (
        "If a minute of waiting is worth the rental of 8 chips, Acme node0 ranks first of 3: "
        "8 × H100 SXM5 80GB train in 10.00 minutes; the noise of runs cannot part it from 1 other."
    )


def test_a_round_is_held_for_two_weeks() -> None:
    rounds = [("v6.0", date(2026, 6, 1)), ("v5.0", date(2025, 6, 4)), ("v9.9", None)]
    assert held(rounds, date(2026, 6, 14)) == {"v6.0": date(2026, 6, 15)}
    assert held(rounds, date(2026, 6, 15)) == {}


def test_old_pages_of_ours_go_and_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "old.html").write_text(page_html(page([entry(0)])), encoding="utf-8")
    (tmp_path / "theirs.html").write_text("<!doctype html><p>mine</p>", encoding="utf-8")
    assert task._sweep(tmp_path, set()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.html"]
