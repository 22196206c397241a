"""Commands that publish: report, open, export."""

from __future__ import annotations

import sys
import webbrowser
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpurank.answers.warehouse import NoData
from gpurank.operations.clock import today
from gpurank.settings import load

ReportFolder = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder of the report; default: GPURANK_HOME/report."),
]


class FileFormat(StrEnum):
    """Formats of an export."""

    parquet = "parquet"
    csv = "csv"
    both = "both"


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    app.command()(report)
    app.command("open")(open_report)
    app.command()(export)


def report(
    out: ReportFolder = None,
    hold: Annotated[
        bool,
        typer.Option(help="Leave out rounds until two weeks after their publication."),
    ] = True,
) -> None:
    """Write the report: a self-contained page per benchmark and round, and an index.

    Example: gpurank report
    Example: gpurank report --out public/
    """
    from tasks.outputs.report import write_report  # imports polars

    settings = load()
    folder = (out or settings.home / "report").absolute()
    written = write_report(settings, folder, today() if hold else None)
    print(f"{written.page_count:,} pages, {written.byte_count:,} bytes", file=sys.stderr)
    if written.held:
        print(f"left out for now: {written.held}; --no-hold includes them", file=sys.stderr)
    print(written.index)


def open_report(out: ReportFolder = None) -> None:
    """Show the report in a web browser; prints its path if no browser starts.

    Example: gpurank open
    """
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


def export(
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Folder to write to; an earlier export is replaced."),
    ],
    form: Annotated[FileFormat, typer.Option("--format", "-f", help="File format.")] = (
        FileFormat.both
    ),
    hold: Annotated[
        bool,
        typer.Option(help="Refuse until two weeks after a round's publication."),
    ] = True,
) -> None:
    """Write all tables as Parquet and CSV, with Croissant and Frictionless metadata.

    Example: gpurank export --out open-data
    Example: gpurank export --out open-data --format parquet
    """
    from tasks.outputs.export import FORMATS, export  # imports pyarrow

    formats = FORMATS if form is FileFormat.both else (form.value,)
    written = export(load(), out.absolute(), formats, today() if hold else None)
    print(
        f"{written.table_count} tables, {written.row_count:,} rows, {written.byte_count:,} bytes",
        file=sys.stderr,
    )
    print(written.folder)
