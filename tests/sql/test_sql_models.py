"""Every SQL model on given rows: the cases stand in tests/sql/<layer>/<table>.yml.

A case names given rows (``rows``, each completed by ``defaults``) and the expected rows in the
order of the table's key; only the columns that a case names are compared. Lookups are the real
ones unless a case gives its own. A table that a case does not give is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import yaml

from gpurank.declared.contracts import contract
from gpurank.declared.models import Model, all_models
from gpurank.declared.rounds import declared_rounds
from gpurank.systems.identity import identity_tables
from tasks.build.load import create_empty, load_frames
from tasks.build.lookups import load_lookups
from tasks.build.models import run_model

HERE = Path(__file__).parent
# A view shows one lower table and computes nothing.
MODELS = {model.table: model for model in all_models() if not model.is_view}
VERSION = {"round_id": "VARCHAR", "version_id": "VARCHAR"}
Case = dict[str, Any]


def read_cases() -> list[Any]:
    cases = []
    for path in sorted(HERE.glob("*/*.yml")):
        table = f"{path.parent.name}.{path.stem}"
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            cases.append(pytest.param(table, case, id=f"{table}: {case['name']}"))
    return cases


@pytest.fixture(scope="module")
def base() -> Iterator[duckdb.DuckDBPyConnection]:
    """Empty source tables and the real lookups."""
    con = duckdb.connect()
    con.execute("CREATE SCHEMA raw")
    create_empty(con, ["raw.round_version"])
    make(con, "raw.folder", declared_columns("raw.folder"), [])
    load_lookups(con)
    columns = contract("identity.system_reported").column_names
    load_frames(con, identity_tables(pl.DataFrame(schema=dict.fromkeys(columns, pl.String))))
    create_empty(con, ["identity.system_reported"])
    yield con
    con.close()


def make(
    con: duckdb.DuckDBPyConnection, table: str, columns: dict[str, str], rows: list[dict[str, Any]]
) -> None:
    declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
    con.execute(f"CREATE OR REPLACE TABLE {table} ({declared})")
    for row in rows:
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" for _ in row)
        con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def declared_columns(table: str) -> dict[str, str]:
    """Names and types of a table's columns; raw tables of versions have their version in front."""
    declared = contract(table)
    columns = {column.name: column.column_type.duckdb for column in declared.columns}
    is_of_version = declared.layer == "raw" and not declared.is_warehouse_only
    return VERSION | columns if is_of_version else columns


def give(con: duckdb.DuckDBPyConnection, model: Model, case: Case) -> None:
    given = case.get("given", {})
    unread = set(given) - model.reads - {"lookup.rule"}
    assert not unread, f"{model.table} does not read {sorted(unread)}"
    for table in sorted(model.reads):
        layer = table.partition(".")[0]
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {layer}")
        if table in given:
            defaults = given[table].get("defaults", {})
            rows = [defaults | row for row in given[table]["rows"]]
            make(con, table, declared_columns(table), rows)
        elif layer == "raw" and table != "raw.round_version":
            make(con, table, declared_columns(table), [])
        elif layer not in ("raw", "lookup", "identity"):
            create_empty(con, [table])
    if "lookup.rule" in model.reads and "lookup.rule" not in given:
        give_rules(con, given)


def give_rules(con: duckdb.DuckDBPyConnection, given: dict[str, Any]) -> None:
    """The declared rules of the benchmark folders that the given rows name."""
    pairs = set()
    for table in given.values():
        for row in (table.get("defaults", {}) | row for row in table["rows"]):
            if "benchmark_folder" in row:
                pairs.add((row["round_id"], row["benchmark_folder"]))
    rows = []
    for round_id, folder in sorted(pairs):
        rule = declared_rounds().rule(round_id, folder)
        rows.append(
            {
                "round_id": round_id,
                "benchmark_folder": folder,
                "round_folder": declared_rounds().round_folder(round_id, folder),
                "benchmark": rule.benchmark,
                "basis": rule.basis,
                "runs_required": rule.runs_required,
                "drop_count": rule.drop,
                "max_nonconverged": rule.max_nonconverged,
                "direction": rule.direction,
                "metric": rule.metric,
                "target": rule.target,
                "target_second": rule.target_second,
                "take_first_converged": rule.take_first_converged,
            }
        )
    make(con, "lookup.rule", declared_columns("lookup.rule"), rows)


def is_equal(value: Any, expected: Any) -> bool:
    if isinstance(expected, list) and isinstance(value, list):
        return len(value) == len(expected) and all(map(is_equal, value, expected))
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return isinstance(value, int | float) and math.isclose(value, expected, rel_tol=1e-9)
    return bool(value == expected)


@pytest.mark.parametrize(("table", "case"), read_cases())
def test_model_gives_the_expected_rows(
    base: duckdb.DuckDBPyConnection, table: str, case: Case
) -> None:
    expected = case["expect"]
    names = list(dict.fromkeys(name for row in expected for name in row))
    base.execute("BEGIN")
    try:
        give(base, MODELS[table], case)
        run_model(base, MODELS[table])
        columns = ", ".join(f'"{name}"' for name in names) or "1"
        found = base.execute(f"SELECT {columns} FROM {table}").fetchall()
    finally:
        base.execute("ROLLBACK")
    rows = [dict(zip(names, values, strict=True)) for values in found] if names else found
    assert len(rows) == len(expected), rows
    for row, wanted in zip(rows, expected, strict=True):
        wrong = {
            key: (row[key], value) for key, value in wanted.items() if not is_equal(row[key], value)
        }
        assert not wrong, f"{case['name']}: (found, expected) of {wrong} in {row}"


def test_every_model_has_a_case() -> None:
    tested = {f"{path.parent.name}.{path.stem}" for path in HERE.glob("*/*.yml")}
    assert set(MODELS) == tested
