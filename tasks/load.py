"""Load a new warehouse file with what the SQL models read: raw, lookup, identity tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import yaml

from gpurank.contracts import contract, contracts
from gpurank.declarations import (
    correction_rows,
    round_number,
    round_rows,
    rule_rows,
    soft_break_rows,
    span_rows,
)
from gpurank.rounds import Rounds, declared_rounds, round_order
from gpurank.store import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

# Older clients should read the file; see docs/decisions.md.
STORAGE_VERSION = "v1.5.0"
# Events are large and stay in their Parquet files; nothing derived needs them all at once.
NOT_LOADED = frozenset({"raw.event"})

_SQL_TYPES = {
    "string": "VARCHAR",
    "dictionary": "VARCHAR",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "list_double": "DOUBLE[]",
    "list_string": "VARCHAR[]",
}
# Lookups are text as people wrote it, but for these columns.
_LOOKUP_TYPES = {
    "counter_above": "DOUBLE", "counter_upto": "DOUBLE", "counter_offset": "DOUBLE",
    "factor_value": "DOUBLE", "factor_upto": "DOUBLE", "epoch_samples": "DOUBLE",
    "logged_scale": "DOUBLE",
    "low": "DOUBLE", "high": "DOUBLE", "priority": "BIGINT", "is_derivable": "BOOLEAN",
    "first_number": "BIGINT", "last_number": "BIGINT",
}  # fmt: skip
_OPEN_END = 2**62
_ROUND = (
    "round_id VARCHAR, round_number BIGINT, round_index BIGINT, round_date DATE, "
    "repository VARCHAR, is_declared BOOLEAN"
)
_RULE = (
    "round_id VARCHAR, benchmark_folder VARCHAR, benchmark VARCHAR, basis VARCHAR, "
    "runs_required BIGINT, drop_count BIGINT, max_nonconverged BIGINT, direction VARCHAR, "
    "target DOUBLE, target_second DOUBLE, metric VARCHAR, second_metric VARCHAR, "
    "counter_unit VARCHAR, take_first_converged BOOLEAN"
)
_SPAN = (
    "span_id VARCHAR, benchmark VARCHAR, first_round_id VARCHAR, last_round_id VARCHAR, "
    "first_number BIGINT, last_number BIGINT, note VARCHAR"
)
_SOFT_BREAK = (
    "benchmark VARCHAR, after_round_id VARCHAR, before_round_id VARCHAR, "
    "after_number BIGINT, before_number BIGINT, reason VARCHAR"
)
_CORRECTION = (
    "correction_id VARCHAR, round_id VARCHAR, table_name VARCHAR, path VARCHAR, "
    "column_name VARCHAR, action VARCHAR, value VARCHAR, expect VARCHAR, reason VARCHAR"
)
_ROUND_VERSION = (
    "round_id VARCHAR, version_id VARCHAR, source_kind VARCHAR, source_uri VARCHAR, "
    "source_commit VARCHAR, content_hash VARCHAR, code_hash VARCHAR, "
    "taken_at VARCHAR, file_count BIGINT, byte_count BIGINT"
)


class LoadError(RuntimeError):
    """The warehouse cannot be loaded: says from what and what to do."""


class StaleCorrection(LoadError):
    """A declared correction whose fault is not there: upstream mended it or it names nothing."""


@dataclass(frozen=True, slots=True)
class Version:
    """One round's version on disk: what is loaded."""

    round_id: str
    version_id: str
    path: Path


@contextmanager
def new_warehouse(path: Path, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a new warehouse file; the file is complete when the block ends.

    Args:
        path: where it stands; must not exist.
        threads: DuckDB threads; all cores by default. Results do not depend on it.

    Raises:
        LoadError: something stands there already.
    """
    if path.exists():
        raise LoadError(f"{path} exists; a warehouse is always built under a new name")
    con = duckdb.connect(config={"threads": threads} if threads else {})
    try:
        target = str(path).replace("'", "''")
        con.execute(f"ATTACH '{target}' AS warehouse (STORAGE_VERSION '{STORAGE_VERSION}')")
        con.execute("USE warehouse")
        con.execute("SET preserve_insertion_order = true")
        yield con
        con.execute("USE memory")
        con.execute("DETACH warehouse")
    finally:
        con.close()


def load_raw(con: duckdb.DuckDBPyConnection, versions: Sequence[Version]) -> None:
    """Make raw.* of the versions' Parquet, each row with its round_id and version_id.

    Raises:
        LoadError: no version, or a table's file is missing or has other columns than its contract.
    """
    if not versions:
        raise LoadError("no round to load; ingest one first")
    ordered = sorted(versions, key=lambda version: round_order(version.round_id))
    con.execute("CREATE SCHEMA IF NOT EXISTS raw")
    for declared in contracts():
        if declared.layer != "raw" or declared.table in NOT_LOADED:
            continue
        con.execute(
            f"CREATE TABLE {declared.table} (round_id VARCHAR, version_id VARCHAR, "
            + ", ".join(f'"{c.name}" {_SQL_TYPES[c.type]}' for c in declared.columns)
            + ")"
        )
        names = ", ".join(f'"{column.name}"' for column in declared.columns)
        order = ", ".join(f'"{name}"' for name in declared.key)
        for version in ordered:
            file = version.path / f"{declared.table.partition('.')[2]}.parquet"
            try:
                con.execute(
                    f"INSERT INTO {declared.table} SELECT ?, ?, {names} "  # noqa: S608
                    f"FROM read_parquet(?) ORDER BY {order}",
                    [version.round_id, version.version_id, str(file)],
                )
            except duckdb.Error as error:
                raise LoadError(
                    f"{file} does not fit {declared.table} ({error}); ingest the round again"
                ) from error
    _load_round_versions(con, ordered)


def _load_round_versions(con: duckdb.DuckDBPyConnection, versions: Sequence[Version]) -> None:
    rows = []
    for version in versions:
        manifest = read_manifest(version.path)
        names = [entry.split()[0] for entry in _ROUND_VERSION.split(", ")]
        known = {"round_id": version.round_id, "version_id": version.version_id}
        rows.append({name: known.get(name, getattr(manifest, name)) for name in names})
    _table(con, "raw.round_version", _ROUND_VERSION, rows)


def load_lookups(con: duckdb.DuckDBPyConnection, rounds: Rounds | None = None) -> None:
    """Make lookup.* of warehouse/lookups/*.csv, rounds.yml and corrections.yml. Needs raw.folder.

    Raises:
        StaleCorrection: a correction's fault is not in the loaded rounds any more.
    """
    rounds = rounds or declared_rounds()
    con.execute("CREATE SCHEMA IF NOT EXISTS lookup")
    for item in sorted(files("warehouse").joinpath("lookups").iterdir(), key=lambda p: p.name):
        if item.name.endswith(".csv"):
            _load_csv(con, f"lookup.{item.name.removesuffix('.csv')}", Path(str(item)))
    seen = con.sql("SELECT DISTINCT round_id, benchmark_folder FROM raw.folder").fetchall()
    _table(con, "lookup.round", _ROUND, round_rows(rounds, _loaded(con)))
    _table(con, "lookup.rule", _RULE, rule_rows(rounds, seen))
    _table(con, "lookup.comparable_span", _SPAN, span_rows(rounds))
    _table(con, "lookup.soft_break", _SOFT_BREAK, soft_break_rows(rounds))
    text = files("warehouse").joinpath("corrections.yml").read_text(encoding="utf-8")
    load_corrections(con, yaml.safe_load(text)["corrections"])


def load_corrections(con: duckdb.DuckDBPyConnection, records: Sequence[Mapping[str, Any]]) -> None:
    """Make lookup.correction and see that each fault is still there. Needs raw.*.

    Raises:
        StaleCorrection: the place is gone or holds another value than the record expects.
    """
    rows = correction_rows(records)
    _table(con, "lookup.correction", _CORRECTION, rows)
    loaded = _loaded(con)
    for row in rows:
        if row["round_id"] not in loaded:
            continue
        found = con.execute(
            f'SELECT CAST("{row["column_name"]}" AS VARCHAR) FROM {row["table_name"]} '  # noqa: S608
            "WHERE round_id = ? AND path = ?",
            [row["round_id"], row["path"]],
        ).fetchall()
        if not found or not _is_same(found[0][0], row["expect"]):
            now = repr(found[0][0]) if found else "nothing"
            raise StaleCorrection(
                f"correction {row['correction_id']}: {row['round_id']} {row['path']} now holds "
                f"{now} in {row['column_name']}, not {row['expect']!r}; upstream changed it: "
                "look again and mend or delete the record in warehouse/corrections.yml"
            )


def load_frames(con: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame]) -> None:
    """Make tables (``schema.name`` → frame), replacing any of that name; row order is kept."""
    for table, frame in sorted(frames.items()):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.partition('.')[0]}")
        con.register("incoming", frame.to_arrow())
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming")  # noqa: S608
        con.unregister("incoming")


def create_empty(con: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> None:
    """Make tables of their contracts without rows, where they are not there yet."""
    for table in tables:
        declared = contract(table)
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {declared.layer}")
        columns = ", ".join(f'"{c.name}" {_SQL_TYPES[c.type]}' for c in declared.columns)
        con.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")


def sql_type(declared: str) -> str:
    """DuckDB's name of a contract's column type."""
    return _SQL_TYPES[declared]


def _load_csv(con: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """A lookup as it stands; round ranges (first, last) also as numbers, open where blank."""
    relation = con.read_csv(str(path), header=True, all_varchar=True, quotechar='"', delimiter=",")
    rows = []
    for values in relation.fetchall():
        row = dict(zip(relation.columns, values, strict=True))
        if {"first", "last"} <= row.keys():
            row["first_number"] = round_number(row["first"]) if row["first"] else 0
            row["last_number"] = round_number(row["last"]) if row["last"] else _OPEN_END
        rows.append(row)
    names = [
        *relation.columns,
        *(("first_number", "last_number") if "first" in relation.columns else ()),
    ]
    _table(
        con,
        table,
        ", ".join(f'"{name}" {_LOOKUP_TYPES.get(name, "VARCHAR")}' for name in names),
        rows,
    )


def _loaded(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {str(row[0]) for row in con.sql("SELECT round_id FROM raw.round_version").fetchall()}


def _table(
    con: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """A small table of dictionaries, one a row; ``columns`` declares names and types."""
    names = [entry.split()[0].strip('"') for entry in columns.split(", ")]
    con.execute(f"CREATE TABLE {table} ({columns})")
    if rows:
        marks = "(" + ", ".join("?" for _ in names) + ")"
        # One statement: executemany plans each row anew.
        con.execute(
            f"INSERT INTO {table} VALUES {', '.join([marks] * len(rows))}",  # noqa: S608
            [row[name] for row in rows for name in names],
        )


def _is_same(found: str | None, expected: str | None) -> bool:
    if found is None or expected is None:
        return found is expected
    try:
        return float(found) == float(expected)
    except ValueError:
        return found == expected
