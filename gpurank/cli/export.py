"""The command that gives the data away."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpurank.settings import load


class FileFormat(StrEnum):
    """Formats of an export."""

    parquet = "parquet"
    csv = "csv"
    both = "both"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(export)


def export(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder; an earlier export is replaced.")
    ],
    form: Annotated[FileFormat, typer.Option("--format", "-f")] = FileFormat.both,
    hold: Annotated[
        bool,
        typer.Option(help="Refuse until two weeks after a round's publication."),
    ] = True,
) -> None:
    """Write all tables as Parquet and CSV, with Croissant and Frictionless metadata.

    Example: gpurank export --out open-data
    Example: gpurank export --out open-data --format parquet
    """
    from datetime import UTC, datetime

    from tasks.outputs.export import FORMATS
    from tasks.outputs.export import export as write

    formats = FORMATS if form is FileFormat.both else (form.value,)
    made = write(load(), out.absolute(), formats, datetime.now(UTC).date() if hold else None)
    print(
        f"{made.table_count} tables, {made.row_count:,} rows, {made.byte_count:,} bytes",
        file=sys.stderr,
    )
    print(made.folder)
