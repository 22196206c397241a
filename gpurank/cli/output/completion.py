"""What the shell offers after a tab: read from the warehouse, and nothing where there is none.

A shell waits for each of these, and a person did not ask for an error: they open the file, ask one
question and are silent about whatever goes wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

_MANY = 200
# A shell puts a word on the line as it is: what it would run or expand there is not offered.
_PLAIN = re.compile(r"""[^\x00-\x1f\x7f-\x9f$`;&|<>\\"'!{}*?\[\]~#\ud800-\udfff]+""")


def benchmarks(incomplete: str) -> list[str]:
    """Benchmarks with results."""
    return _asked("select distinct benchmark from marts.result", incomplete)


def round_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Rounds; of the benchmark that is already on the line, where there is one."""
    benchmark = ctx.params.get("benchmark")
    return _asked(
        "select distinct round_id from marts.result where ? is null or benchmark = ?",
        incomplete,
        [benchmark, benchmark],
    )


def result_ids(incomplete: str) -> list[str]:
    """Result ids."""
    return _asked("select result_id from marts.result", incomplete)


def results_or_rounds(ctx: typer.Context, incomplete: str) -> list[str]:
    """Rounds where a benchmark is named, else result ids."""
    if ctx.params.get("benchmark"):
        return round_names(ctx, incomplete)
    return result_ids(incomplete)


def accelerators(incomplete: str) -> list[str]:
    """Accelerators that somebody filed."""
    return _asked(
        "select distinct accelerator from marts.result where accelerator is not null", incomplete
    )


def _asked(sql: str, incomplete: str, values: Sequence[Any] = ()) -> list[str]:
    try:
        from gpurank.answers.warehouse import open_warehouse
        from gpurank.settings import load

        con = open_warehouse(load().warehouse_path)
        try:
            cursor = con.execute(
                f"select name from ({sql}) as _(name) "  # noqa: S608
                "where starts_with(name, ?) order by name limit ?",
                [*values, incomplete, _MANY],
            )
            names = (str(row[0]) for row in cursor.fetchall())
            return [name for name in names if _PLAIN.fullmatch(name)]
        finally:
            con.close()
    except Exception:
        return []
