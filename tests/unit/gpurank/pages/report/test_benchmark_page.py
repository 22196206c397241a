"""A benchmark page: escaped, self-contained, the same bytes each time, with its footnotes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from report_pages import CLUSTER, LAW, entry, page

from gpurank.pages.check import page_faults
from gpurank.pages.report.benchmark_page import page_html
from gpurank.pages.report.words import headline

HOSTILE = "</script><script>alert(1)</script> & \"q\" 'a' \u2028 <!--"


class Texts(HTMLParser):
    """Text of a page and the names of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def embedded_data(text: str) -> str:
    return next(data for data in Texts(text).texts if data.startswith('{"lambda"'))


def test_filed_text_stays_text() -> None:
    rows = [
        entry(0, system_name=HOSTILE, submitter=HOSTILE, accelerator=HOSTILE, host_cpu=HOSTILE),
        entry(1, availability=HOSTILE, cluster_label=1, cluster_name=HOSTILE),
    ]
    text = page_html(page(rows, left_out=({"reason": HOSTILE, "result_count": 1},)))
    parsed = Texts(text)
    assert parsed.tags.count("script") == 2
    assert "alert" not in re.sub(r"<[^>]*>", "", text.split("<script>")[1])
    assert any("<script>alert(1)</script>" in shown for shown in parsed.texts)
    assert json.loads(embedded_data(text))["rows"][0]["y"] == HOSTILE
    assert not page_faults(text)


def test_embedded_data_cannot_end_its_element() -> None:
    text = page_html(page([entry(0, system_name=HOSTILE, submitter=HOSTILE, host_cpu=HOSTILE)]))
    assert not set("<>&") & set(embedded_data(text))


def test_numbers_reach_the_browser_exactly() -> None:
    minutes = 0.1 + 0.2
    data = json.loads(embedded_data(page_html(page([entry(0, score_min=minutes)]))))
    assert data["rows"][0]["t"] == minutes


def test_a_page_is_the_same_bytes_each_time_and_complete() -> None:
    rows = [entry(index, cluster_label=1, cluster_name="one") for index in range(3)]
    text = page_html(page(rows, clusters=(CLUSTER,), law=LAW))
    assert text == page_html(page(rows, clusters=(CLUSTER,), law=LAW))
    assert not page_faults(text)
    assert text.count("<figure") == text.count('class="notes"') >= 6
    assert not re.search(r'(src|href)="(?:https?:)?//(?!github\.com/)', text)


def test_what_cannot_be_shown_says_why() -> None:
    no_clusters = {"cluster_label": None, "reason": "3 rows, 30 needed"}
    text = page_html(page([entry(0)], clusters=(no_clusters,), law=LAW | {"reason": "3 rows"}))
    assert "has no clusters: 3 rows, 30 needed." in text
    assert "No fleet law could be fitted: 3 rows." in text
    assert "no fleet law for this benchmark" in page_html(page([entry(0)]))


def test_the_headline_says_who_is_first_and_how_sure_that_is() -> None:
    rows = [entry(0, tie_group=1), entry(1, tie_group=1), entry(2, tie_group=2)]
    sentence = (
        "If a minute of waiting is worth the rental of 8 chips, Acme node0 ranks first of 3: "
        "8 × H100 SXM5 80GB train in 10.00 minutes; statistically tied with 1 other."
    )
    assert headline(page(rows)) == sentence
    assert f'<p class="lead" id="headline">{sentence}</p>' in page_html(page(rows))
