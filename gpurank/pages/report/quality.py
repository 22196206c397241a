"""The data-quality box: what was read, what a list leaves out and why, what touches its results."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpurank.pages.report.data import Page, Row
from gpurank.pages.report.parts import Head, Markup, breakable, figure, link, table
from gpurank.pages.report.words import benchmark_name


def quality_box(page: Page, notes: Sequence[str]) -> str:
    """The box as HTML."""
    name = benchmark_name(page.key.benchmark)
    refiled = sum(not entry["is_independent"] for entry in page.entries)
    said = (
        f"{len(page.entries):,} results are ranked here"
        + (f", {refiled:,} of them measured and filed in an earlier round" if refiled else "")
        + f"; {sum(row['result_count'] for row in page.left_out):,} are left out with a reason."
    )
    parts = [f"<p>{escape(said)}</p>"]
    if page.left_out:
        rows = [(row["reason"], f"{row['result_count']:,}") for row in page.left_out]
        content = table("left-out", (Head("Why left out"), Head("Results", True)), rows)
        parts.append(figure("left-out", f"Results without a rank: {name}", content, notes))
    if page.issues:
        parts.append(
            figure("issues", f"Issues that touch ranked results: {name}", _issues(page), notes)
        )
    parts.append(figure("sources", "Rounds that were read, all benchmarks", _sources(page), notes))
    return "".join(parts)


def _issues(page: Page) -> str:
    heads = (Head("Level"), Head("Kind"), Head("Results", True), Head("Example"), Head("Result"))
    rows = [
        (
            row["level"],
            Markup(escape(row["kind"].replace("_", " ")).replace(" ", "&nbsp;")),
            f"{row['result_count']:,}",
            breakable(row["example"]),
            breakable(row["result_id"]),
        )
        for row in page.issues
    ]
    return table("issues", heads, rows)


def _sources(page: Page) -> str:
    heads = (
        Head("Round"),
        Head("Source"),
        Head("Folders", True),
        Head("Results", True),
        Head("With a score", True),
        Head("Ranked", True),
        Head("Set aside", True),
        Head("Version"),
    )
    rows = [_source(row) for row in page.rounds]
    return table("sources", heads, rows)


def _source(row: Row) -> tuple[object, ...]:
    commit = row["source_commit"]
    address = f"{row['repository']}/tree/{commit}" if commit else row["repository"]
    text = row["repository"].rpartition("/")[2] + (f"@{commit[:12]}" if commit else "")
    return (
        row["round_id"],
        link(address, text),
        f"{row['folder_count']:,}",
        f"{row['result_count']:,}",
        f"{row['scored_count']:,}",
        f"{row['ranked_count']:,}",
        f"{row['quarantined_count']:,}",
        row["version_id"],
    )
