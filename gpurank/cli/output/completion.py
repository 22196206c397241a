"""What the shell offers after a tab, read from the warehouse; nothing where there is none.

The shell waits for each of these functions, and nobody asked for an error: they open the file, ask
one question and print nothing, whatever goes wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

from gpurank.answers.warehouse import open_warehouse
from gpurank.settings import load

_LIMIT = 200
# A shell inserts a word as it is. Words with characters that it would run or expand are left out.
_HARMLESS = re.compile(r"""[^\x00-\x1f\x7f-\x9f$`;&|<>\\"'!{}*?\[\]~#\ud800-\udfff]+""")


def benchmarks(incomplete: str) -> list[str]:
    """Returns benchmarks with results."""
    return _names("select distinct benchmark from marts.result", incomplete)


def round_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Returns rounds; if a benchmark is already on the line, only those with results of it."""
    benchmark = ctx.params.get("benchmark")
    return _names(
        "select distinct round_id from marts.result where ? is null or benchmark = ?",
        incomplete,
        [benchmark, benchmark],
    )


def result_ids(incomplete: str) -> list[str]:
    """Returns result ids."""
    return _names("select result_id from marts.result", incomplete)


def results_or_rounds(ctx: typer.Context, incomplete: str) -> list[str]:
    """Returns rounds if a benchmark is already on the line, else result ids."""
    if ctx.params.get("benchmark"):
        return round_names(ctx, incomplete)
    return result_ids(incomplete)


def accelerators(incomplete: str) -> list[str]:
    """Returns accelerators with results."""
    return _names(
        "select distinct accelerator from marts.result where accelerator is not null", incomplete
    )


def _names(sql: str, incomplete: str, values: Sequence[Any] = ()) -> list[str]:
    try:
        connection = open_warehouse(load().warehouse_path)
        try:
            cursor = connection.execute(
                f"select name from ({sql}) as _(name) "  # noqa: S608
                "where starts_with(name, ?) order by name limit ?",
                [*values, incomplete, _LIMIT],
            )
            names = (str(row[0]) for row in cursor.fetchall())
            return [name for name in names if _HARMLESS.fullmatch(name)]
        finally:
            connection.close()
    except Exception:
        return []
