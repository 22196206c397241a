"""Options that several commands share, the warehouse they open, and the footnotes they print."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.console import current_console
from gpurank.answers import warehouse as reading
from gpurank.answers.notes import footnotes_of
from gpurank.answers.warehouse import Answer
from gpurank.cli.output.answer import Format
from gpurank.cli.output.completion import benchmarks, round_names
from gpurank.settings import load
from gpurank.store.history import moment

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Benchmark = Annotated[
    str,
    typer.Option("--benchmark", "-b", help="For example resnet.", autocompletion=benchmarks),
]
Round = Annotated[
    str | None,
    typer.Option("--round", "-r", help="For example v4.0.", autocompletion=round_names),
]
Form = Annotated[Format, typer.Option("--format", "-f", help="Output format.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write to; default: stdout.")
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="Use only what was known on this date (UTC)."),
]


@contextmanager
def warehouse(as_of: str | None = None) -> Iterator[DuckDBPyConnection]:
    """Opens the published warehouse, or one of what was known at a date, read-only.

    Raises:
        NoData: there is no warehouse, or it cannot be read.
    """
    settings = load()
    if settings.remote is not None:
        from gpurank.store import remote  # only for a data folder on object storage

        remote.refresh(settings)
    path = settings.warehouse_path
    if as_of is not None:
        from flows.as_of import warehouse_at  # imports pyarrow

        if not current_console().is_quiet:
            print(f"looking up what was known by {as_of}", file=sys.stderr, flush=True)
        path = warehouse_at(settings, moment(as_of))
    connection = reading.open_warehouse(path)
    try:
        yield connection
    finally:
        connection.close()


def footnotes_of_ranking(
    connection: DuckDBPyConnection, benchmark: str, ranking: Answer
) -> tuple[str, ...]:
    """Returns the footnotes of a ranking, with its own rounds, divisions and λ."""
    return footnotes_of(
        connection,
        benchmark,
        ranking.column("division"),
        ranking.column("round_id"),
        ranking.column("lambda_chips")[0],
    )
