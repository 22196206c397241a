"""The index links each list and carries the footnotes."""

from __future__ import annotations

from dataclasses import replace

from report_pages import entry, page

from gpurank.pages.check import page_faults
from gpurank.pages.report.index import index_html


def test_the_index_links_each_list_and_carries_the_footnote() -> None:
    of_round = page([entry(0)])
    pooled = replace(of_round, key=replace(of_round.key, round_id=None))
    text = index_html((pooled, of_round))
    assert 'href="resnet-v4.0.html"' in text and 'href="resnet-pooled.html"' in text
    assert "ResNet-50 (image classification)" in text
    assert not page_faults(text)


def test_filed_names_are_escaped() -> None:
    text = index_html((page([entry(0, submitter="<b>&", system_name="<script>")]),))
    assert "<b>&" not in text and "&lt;b&gt;&amp; &lt;script&gt;" in text
    assert text.count("<script") == 1
