"""Declared rounds, rules, spans and corrections as lookup rows."""

from __future__ import annotations

import itertools
from typing import Any

import duckdb
import pytest

from gpurank.declared.declarations import (
    CorrectionError,
    correction_rows,
    round_number,
    round_rows,
    rule_rows,
    span_rows,
)
from gpurank.declared.rounds import UnknownRound, declared_rounds
from tasks.build.lookups import StaleCorrection, load_corrections

RECORD: dict[str, Any] = {
    "id": "c",
    "round": "v4.0",
    "table": "raw.run",
    "path": "p",
    "column": "duration_ms",
    "action": "set_null",
    "expect": 5,
    "reason": "a\n  reason",
}


def test_round_numbers_sort_as_rounds_do() -> None:
    names = ["v10.0", "v0.5", "v3.1", "v3.0", "v1.10", "v1.9"]
    assert sorted(names, key=round_number) == ["v0.5", "v1.9", "v1.10", "v3.0", "v3.1", "v10.0"]
    with pytest.raises(UnknownRound):
        round_number("newest")


def test_an_undeclared_round_takes_its_place_in_time() -> None:
    rows = {row["round_id"]: row for row in round_rows(declared_rounds(), ["v4.5"])}
    assert rows["v4.1"]["round_index"] < rows["v4.5"]["round_index"] < rows["v5.0"]["round_index"]
    assert not rows["v4.5"]["is_declared"]
    assert rows["v4.5"]["round_date"] is None


def test_rules_are_of_the_folder_in_its_round() -> None:
    rows = rule_rows(declared_rounds(), [("v2.0", "ssd"), ("v1.0", "ssd"), ("v6.1", "made_up")])
    assert [(row["round_id"], row["benchmark"]) for row in rows] == [
        ("v1.0", "ssd"),
        ("v2.0", "retinanet"),
        ("v6.1", "made_up"),
    ]
    assert rows[2]["basis"] == "unknown"
    assert rows[2]["runs_required"] is None


def test_spans_of_a_benchmark_never_overlap() -> None:
    by_benchmark: dict[str, list[tuple[int, int]]] = {}
    for row in span_rows(declared_rounds()):
        span = (row["first_number"], row["last_number"])
        by_benchmark.setdefault(row["benchmark"], []).append(span)
    for spans in by_benchmark.values():
        spans.sort()
        assert all(first <= last for first, last in spans)
        assert all(left[1] < right[0] for left, right in itertools.pairwise(spans))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": "guess"}, "correction c: action 'guess'"),
        ({"value": 1}, r"entries \['value'\]"),
        ({"action": "replace"}, r"entries \['value'\]"),
        ({"action": "replace", "value": "ten"}, "'ten' is no int or float"),
        ({"action": "replace", "value": True}, "True is no int or float"),
        ({"column": "start_ms"}, "raw.run.start_ms cannot be corrected"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_malformed_correction_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CorrectionError, match=message):
        correction_rows([RECORD | change])
    with pytest.raises(CorrectionError, match="declared twice"):
        correction_rows([RECORD, RECORD])


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("CREATE SCHEMA raw; CREATE SCHEMA lookup")
    con.execute("CREATE TABLE raw.round_version AS SELECT 'v4.0' AS round_id")
    con.execute(
        "CREATE TABLE raw.run AS SELECT 'v4.0' AS round_id, 'p' AS path, 5.0 AS duration_ms"
    )
    return con


@pytest.mark.parametrize(
    ("change", "reasons", "unplaced"),
    [
        ({}, [("a reason",)], []),
        ({"path": "gone"}, [], [("gone",)]),  # corrects nothing
        ({"round": "v5.0", "expect": 99}, [], []),  # its round is not loaded
    ],
)
def test_a_correction_is_loaded_where_its_fault_stands(
    con: duckdb.DuckDBPyConnection,
    change: dict[str, Any],
    reasons: list[tuple[str]],
    unplaced: list[tuple[str]],
) -> None:
    load_corrections(con, [RECORD | change])
    loaded = con.execute("SELECT reason FROM lookup.correction WHERE round_id = 'v4.0'")
    assert loaded.fetchall() == reasons
    assert con.execute("SELECT path FROM lookup.correction_unplaced").fetchall() == unplaced


@pytest.mark.parametrize("change", [{"expect": 6}, {"expect": None}])
def test_a_mended_fault_stops_the_analysis_and_names_the_record(
    con: duckdb.DuckDBPyConnection, change: dict[str, Any]
) -> None:
    with pytest.raises(StaleCorrection, match=r"correction c: v4\.0 .* now holds .*upstream"):
        load_corrections(con, [RECORD | change])
