"""The lines that a round of the warehouse lacks in the declared files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING

from gpurank.answers.warehouse import Answer, NoData, loaded_versions, nearest_round
from gpurank.declared.missing import (
    COUNTED_BENCHMARKS_SQL,
    SEEN_RUNS_SQL,
    MissingLine,
    SeenRun,
    missing_lines,
    paste_text,
)
from gpurank.declared.rounds import declared_rounds, round_order

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def read(con: DuckDBPyConnection, round_id: str) -> tuple[MissingLine, ...]:
    """Returns what a round needs in the declared files and lacks.

    Raises:
        UnknownRound: the name is not ``vX.Y``.
        NoData: the warehouse does not hold the round; names those that it holds.
    """
    round_order(round_id)
    held = list(loaded_versions(con))
    if round_id not in held:
        hint = nearest_round(round_id, held)
        raise NoData(f"{round_id} is not in the warehouse, so nothing can be said of it; {hint}")
    runs = [SeenRun(*row) for row in con.execute(SEEN_RUNS_SQL, [round_id]).fetchall()]
    counted = [row[0] for row in con.execute(COUNTED_BENCHMARKS_SQL, [round_id]).fetchall()]
    return missing_lines(round_id, runs, counted, declared_rounds())


def text(round_id: str, lines: Sequence[MissingLine]) -> str:
    """Returns the lines as text to paste, or the sentence that nothing is missing."""
    return paste_text(lines) or f"The declared files lack nothing that {round_id} needs."


def answer(lines: Sequence[MissingLine]) -> Answer:
    """Returns the lines as rows."""
    columns = tuple(field.name for field in fields(MissingLine))
    rows = tuple(astuple(line) for line in lines)
    return Answer(columns, rows, ("VARCHAR",) * len(columns), "missing declarations")
