"""Write the report: every page to a temporary name, then all of them put in place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from gpurank.answers.warehouse import NoData, open_warehouse
from gpurank.errors import Exit, GpurankError
from gpurank.pages.report.data import Page, pages
from gpurank.pages.report.document import GENERATOR
from gpurank.pages.report.index import index_html
from gpurank.pages.report.lint import faults
from gpurank.pages.report.page import page_html
from gpurank.settings import Settings
from gpurank.store.embargo import held

_MARK = f'<meta name="generator" content="{GENERATOR}">'


class ReportError(GpurankError, RuntimeError):
    """A page would break the rules of publishing; nothing was written."""

    exit_code = Exit.VALIDATION


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the index, how many files, their bytes, how many old ones went.

    ``held`` names rounds that were left out because they may not be shown yet; empty: none.
    """

    index: Path
    page_count: int
    byte_count: int
    removed_count: int
    held: str = ""


def write_report(settings: Settings, folder: Path, today: date | None = None) -> Written:
    """Write all pages and the index into a folder; pages of an earlier report that are gone go.

    Args:
        settings: where the warehouse is.
        folder: where to; made where it is missing.
        today: leave out lists with a round that may not be shown yet on this day; None: show all.

    Raises:
        NoData: there is no warehouse, or nothing is ranked (or may be shown).
        ReportError: a page lacks a footnote or would load something.
    """
    con = open_warehouse(settings.warehouse_path)
    try:
        found = pages(con)
    finally:
        con.close()
    waiting = _held(found, today)
    found = tuple(page for page in found if not _names(page) & set(waiting))
    if not found:
        raise NoData("every round is held back: " + _told(waiting))
    texts = dict(_texts(found))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        partial = folder / f".{name}.{os.getpid()}.part"
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(folder / name)
    removed = _sweep(folder, set(texts))
    size = sum(len(text.encode()) for text in texts.values())
    return Written(folder / "index.html", len(texts), size, removed, _told(waiting))


def _held(found: tuple[Page, ...], today: date | None) -> dict[str, date]:
    if today is None:
        return {}
    rounds = {row["round_id"]: row["published_on"] for page in found for row in page.rounds}
    return held(rounds.items(), today)


def _names(page: Page) -> set[str]:
    return {row["round_id"] for row in page.rounds}


def _told(waiting: dict[str, date]) -> str:
    return ", ".join(f"{name} until {day.isoformat()}" for name, day in sorted(waiting.items()))


def _texts(found: tuple[Page, ...]) -> Iterator[tuple[str, str]]:
    for name, text in (
        *((page.key.file_name, page_html(page)) for page in found),
        ("index.html", index_html(found)),
    ):
        if wrong := faults(text):
            raise ReportError(f"{name} is not written: {'; '.join(wrong)}")
        yield name, text


def _sweep(folder: Path, kept: set[str]) -> int:
    """Remove our own pages that this report no longer has; files of others stay."""
    old = [path for path in sorted(folder.glob("*.html")) if path.name not in kept]
    ours = []
    for path in old:
        with path.open(encoding="utf-8", errors="replace") as stream:
            if _MARK in stream.read(2000):
                ours.append(path)
    for path in ours:
        path.unlink()
    return len(ours)
