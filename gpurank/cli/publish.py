"""Commands that make pages: the report, and showing it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gpurank.settings import load

Folder = Annotated[
    Path | None, typer.Option("--out", "-o", help="Folder; default GPURANK_HOME/report.")
]


def register(app: typer.Typer) -> None:
    """Add the report's commands to the application."""
    app.command()(report)
    app.command("open")(open_report)


def report(
    out: Folder = None,
    hold: Annotated[
        bool,
        typer.Option(help="Leave out rounds until two weeks after their publication."),
    ] = True,
) -> None:
    """Write the report: a self-contained page per benchmark and round, and an index.

    Example: gpurank report
    Example: gpurank report --out public/
    """
    from datetime import UTC, datetime

    from tasks.outputs.report import write_report

    settings = load()
    folder = (out or settings.home / "report").absolute()
    made = write_report(settings, folder, datetime.now(UTC).date() if hold else None)
    print(f"{made.page_count:,} pages, {made.byte_count:,} bytes", file=sys.stderr)
    if made.held:
        print(f"left out for now: {made.held}; --no-hold shows them", file=sys.stderr)
    print(made.index)


def open_report(out: Folder = None) -> None:
    """Show the report in a web browser; prints its path where there is none.

    Example: gpurank open
    """
    import webbrowser

    from gpurank.answers.warehouse import NoData

    index = (out or load().home / "report").absolute() / "index.html"
    if not index.is_file():
        raise NoData(f"there is no report at {index}; `gpurank report` writes one")
    try:
        is_shown = webbrowser.open(index.as_uri())
    except webbrowser.Error:
        is_shown = False
    if not is_shown:
        print("no browser could be started; open this file in one", file=sys.stderr)
    print(index)
