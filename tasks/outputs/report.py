"""Writes the report: each page to a temporary name first, then into place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gpurank.answers.warehouse import NoData, open_warehouse
from gpurank.errors import Exit, GpurankError
from gpurank.operations.freshness import freshness_of_warehouse, page_sentences
from gpurank.pages.check import page_faults
from gpurank.pages.report import GENERATOR
from gpurank.pages.report.benchmark_page import page_html
from gpurank.pages.report.data import Page, pages
from gpurank.pages.report.index import index_html
from gpurank.settings import Settings
from gpurank.store.embargo import held

_MARK = f'<meta name="generator" content="{GENERATOR}">'


class ReportError(GpurankError, RuntimeError):
    """A page would break the rules of publishing; nothing was written."""

    exit_code = Exit.VALIDATION


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the index, how many files, their bytes, how many old ones were removed.

    ``held`` names the rounds that are left out because they may not be shown yet; empty: none.
    """

    index: Path
    page_count: int
    byte_count: int
    removed_count: int
    held: str = ""


def write_report(settings: Settings, folder: Path, today: date | None = None) -> Written:
    """Writes all pages and the index into a folder; deletes pages that only an older report had.

    Args:
        settings: where the warehouse is.
        folder: where to; created where it is missing.
        today: leave out lists with a round that may not be shown yet on this day; None: show all.

    Raises:
        NoData: there is no warehouse, or nothing is ranked (or may be shown).
        ReportError: a page lacks a footnote or would load something.
    """
    with open_warehouse(settings.warehouse_path) as con:
        all_pages = pages(con)
        held_rounds = _held_rounds(all_pages, today)
        age = freshness_of_warehouse(con, settings, today, held_rounds)
    shown = [page for page in all_pages if not held_rounds.keys() & _round_ids(page)]
    if not shown:
        raise NoData("every round is held back: " + _listing(held_rounds))
    texts = _render(shown, page_sentences(age))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        partial = folder / f".{name}.{os.getpid()}.part"
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(folder / name)
    removed_count = _remove_old_pages(folder, set(texts))
    size = sum(len(text.encode()) for text in texts.values())
    return Written(folder / "index.html", len(texts), size, removed_count, _listing(held_rounds))


def _held_rounds(all_pages: Sequence[Page], today: date | None) -> dict[str, date]:
    if today is None:
        return {}
    rounds = {row["round_id"]: row["published_on"] for page in all_pages for row in page.rounds}
    return held(rounds.items(), today)


def _round_ids(page: Page) -> set[str]:
    return {row["round_id"] for row in page.rounds}


def _listing(held_rounds: Mapping[str, date]) -> str:
    return ", ".join(f"{name} until {day.isoformat()}" for name, day in sorted(held_rounds.items()))


def _render(shown: Sequence[Page], age: Sequence[str]) -> dict[str, str]:
    """Returns the text of each file by its name, in the order to be written.

    Raises:
        ReportError: a page lacks a footnote or would load something.
    """
    texts = {page.key.file_name: page_html(page, age) for page in shown}
    # The index comes last, so that it never links a page that is not there yet.
    texts["index.html"] = index_html(shown, age)
    for name, text in texts.items():
        if faults := page_faults(text):
            raise ReportError(f"{name} is not written: {'; '.join(faults)}")
    return texts


def _remove_old_pages(folder: Path, current: set[str]) -> int:
    """Deletes pages of an older report that this one lacks; other files stay. Returns how many."""
    removed_count = 0
    for path in sorted(folder.glob("*.html")):
        if path.name not in current and _is_report_page(path):
            path.unlink()
            removed_count += 1
    return removed_count


def _is_report_page(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as stream:
        return _MARK in stream.read(2000)
