"""The report's folder: old pages of its own go, files of others stay."""

from __future__ import annotations

from pathlib import Path

from report_pages import entry, page

from gpurank.pages.data_quality import Quality, quality_page
from gpurank.pages.report.benchmark_page import page_html
from tasks.outputs.report import _remove_old_pages


def test_old_pages_are_removed_and_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "old.html").write_text(page_html(page([entry(0)])), encoding="utf-8")
    (tmp_path / "theirs.html").write_text("<!doctype html><p>mine</p>", encoding="utf-8")
    quality = quality_page(Quality([], [], [], []))
    (tmp_path / "data_quality.html").write_text(quality, encoding="utf-8")
    assert _remove_old_pages(tmp_path, set()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"theirs.html", "data_quality.html"}
