"""Compares two results, and refuses pairs that are not comparable.

``marts.comparison`` decides: results within a comparable span may be compared, over a soft break
with a warning, and results of different spans may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpurank.answers.explain import nearest_result
from gpurank.answers.warehouse import Answer, NoData, ask, nearest_round, require_benchmark
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit, GpurankError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PAIR = """
select is_comparable, reason, warning from marts.comparison
where benchmark = ? and round_id = ? and other_round_id = ?
"""

_RESULT = """
select result_id, round_id, benchmark, benchmark_folder, submitter, system_name, accelerator,
       accelerator_count, division, availability, score_min, score_missing_reason,
       accelerator_minutes, first_seen_result_id, is_independent, source_commit
from marts.result where result_id = ?
"""

_SHOWN = (
    "result_id",
    "round_id",
    "submitter",
    "system_name",
    "accelerator",
    "accelerator_count",
    "division",
    "availability",
    "score_min",
    "accelerator_minutes",
    "speedup",
    "efficiency",
    "warning",
    "source_commit",
)


class NotComparable(GpurankError, ValueError):
    """Two results or rounds that may not be compared; the message says why."""

    exit_code = Exit.NOT_COMPARABLE


@dataclass(frozen=True, slots=True)
class Comparison:
    """The second result compared with the first.

    ``speedup`` = T1 / T2 and ``efficiency`` = N1 T1 / (N2 T2), a ratio of accelerator-minutes
    (derived, not official metrics); None if a part is missing, which ``notes`` then explain.
    Show ``warnings`` wherever you show the numbers. ``results`` has one row per result, in minutes.
    """

    benchmark: str
    speedup: float | None
    efficiency: float | None
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    results: Answer


def check(con: DuckDBPyConnection, benchmark: str, round_id: str, other: str) -> str | None:
    """Checks that results of a benchmark may be compared between two rounds.

    Returns:
        The warning to show with any such comparison (a soft break), or None.

    Raises:
        NotComparable: they may not; the message is the reason.
        NoData: the benchmark was not submitted in one of the rounds, or is unknown.
    """
    require_benchmark(con, benchmark)
    rows = ask(con, _PAIR, [benchmark, round_id, other]).rows
    if not rows:
        sql = "select distinct round_id from marts.comparison where benchmark = ?"
        rounds = sorted(ask(con, sql, [benchmark]).column("round_id"), key=round_order)
        absent = round_id if round_id not in rounds else other
        raise NoData(f"no result of {benchmark} in {absent}; {nearest_round(absent, rounds)}")
    is_comparable, reason, warning = rows[0]
    if not is_comparable:
        raise NotComparable(str(reason))
    return None if warning is None else str(warning)


def compare(con: DuckDBPyConnection, first_id: str, second_id: str) -> Comparison:
    """Compares a result with another of the same benchmark.

    Raises:
        NotComparable: other benchmarks, or rounds of different comparable spans.
        NoData: there is no such result; names the nearest ones.
    """
    first, second = _result(con, first_id), _result(con, second_id)
    if first["benchmark"] != second["benchmark"]:
        raise NotComparable(_other_benchmarks(first, second))
    soft_break = check(con, first["benchmark"], first["round_id"], second["round_id"])
    warnings = tuple(filter(None, (soft_break, *_differences(first, second))))
    rows = [_compared_with(first, first), _compared_with(first, second)]
    for row in rows:
        row["warning"] = "; ".join(warnings) or None
    table = Answer(
        _SHOWN,
        tuple(tuple(row[name] for name in _SHOWN) for row in rows),
        tuple(_TYPES.get(name, "VARCHAR") for name in _SHOWN),
        f"{first['benchmark']}: the second against the first (derived)",
    )
    return Comparison(
        benchmark=first["benchmark"],
        speedup=rows[1]["speedup"],
        efficiency=rows[1]["efficiency"],
        warnings=warnings,
        notes=tuple(filter(None, (_missing(first), _missing(second)))),
        results=table,
    )


def _compared_with(first: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a row with its speed-up and efficiency against the first."""
    return {
        **row,
        "speedup": _ratio(first["score_min"], row["score_min"]),
        "efficiency": _ratio(first["accelerator_minutes"], row["accelerator_minutes"]),
    }


_TYPES = {
    "accelerator_count": "BIGINT",
    **dict.fromkeys(("score_min", "accelerator_minutes", "speedup", "efficiency"), "DOUBLE"),
}


def _result(con: DuckDBPyConnection, result_id: str) -> dict[str, Any]:
    rows = ask(con, _RESULT, [result_id]).dicts()
    if not rows:
        ids = ask(con, "select result_id from marts.result").column("result_id")
        raise NoData(f"no result is called {result_id!r}; {nearest_result(result_id, ids)}")
    return rows[0]


def _other_benchmarks(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    text = (
        f"{first['result_id']} is {first['benchmark']} and {second['result_id']} is "
        f"{second['benchmark']}; only results of one benchmark may be compared"
    )
    if first["benchmark_folder"] == second["benchmark_folder"]:
        text += f" (the folder name {first['benchmark_folder']!r} means another one in each round)"
    return text


def _differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Returns differences besides the systems, which publishers must state with the numbers."""
    differences = [
        f"{name} differs: {first[name] or 'not filed'} and {second[name] or 'not filed'}"
        for name in ("division", "availability")
        if first[name] != second[name]
    ]
    if first["first_seen_result_id"] == second["first_seen_result_id"]:
        return [*differences, "both are the same measurement"]
    return differences + [
        f"{row['result_id']} was first filed as {row['first_seen_result_id']}"
        for row in (first, second)
        if not row["is_independent"]
    ]


def _missing(row: Mapping[str, Any]) -> str | None:
    """Returns why a row lacks a score or accelerator-minutes; None if it has both."""
    if row["score_min"] is None:
        return f"{row['result_id']} has no score ({row['score_missing_reason']})"
    if not row["accelerator_count"]:
        count = "no accelerators" if row["accelerator_count"] == 0 else "no known accelerator count"
        return f"{row['result_id']} has {count}, so it has no accelerator-minutes"
    return None


def _ratio(dividend: float | None, divisor: float | None) -> float | None:
    return dividend / divisor if dividend is not None and divisor else None
