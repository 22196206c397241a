"""Make lookup.*: reference tables, declared rounds and rules, declared corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from gpurank.declared.declarations import (
    correction_rows,
    round_number,
    round_rows,
    rule_rows,
    soft_break_rows,
    span_rows,
)
from gpurank.declared.rounds import Rounds, declared_rounds
from tasks.build.load import LoadError, insert_rows, one_commit

if TYPE_CHECKING:
    import duckdb

# Lookups are text as people wrote it, but for these columns.
_TYPES: dict[str, dict[str, str]] = {
    "lookup.bound": {"low": "DOUBLE", "high": "DOUBLE"},
    "lookup.issue_level": {"priority": "BIGINT"},
    "lookup.logged_unit": {"logged_scale": "DOUBLE"},
    "lookup.samples": {
        "priority": "BIGINT", "counter_above": "DOUBLE", "counter_upto": "DOUBLE",
        "counter_offset": "DOUBLE", "factor_value": "DOUBLE", "factor_upto": "DOUBLE",
        "epoch_samples": "DOUBLE", "is_derivable": "BOOLEAN",
    },
}  # fmt: skip
_OPEN_END = 2**62
_ROUND = (
    "round_id VARCHAR, round_number BIGINT, round_index BIGINT, round_date DATE, "
    "repository VARCHAR, is_declared BOOLEAN"
)
_RULE = (
    "round_id VARCHAR, benchmark_folder VARCHAR, round_folder VARCHAR, benchmark VARCHAR, "
    "basis VARCHAR, "
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


class StaleCorrection(LoadError):
    """A declared correction whose fault is not there any more: upstream mended it."""


def load_lookups(
    con: duckdb.DuckDBPyConnection, rounds: Rounds | None = None, corrections: bool = True
) -> None:
    """Make lookup.* of warehouse/lookups/*.csv, rounds.yml and corrections.yml. Needs raw.folder.

    ``corrections=False`` reads the data as filed.

    Raises:
        StaleCorrection: a correction's fault is not in the loaded rounds any more.
    """
    rounds = rounds or declared_rounds()
    folder = files("warehouse")
    records = yaml.safe_load(folder.joinpath("corrections.yml").read_text(encoding="utf-8"))
    seen = con.sql("SELECT DISTINCT round_id, benchmark_folder FROM raw.folder").fetchall()
    with one_commit(con):
        con.execute("CREATE SCHEMA IF NOT EXISTS lookup")
        for item in sorted(folder.joinpath("lookups").iterdir(), key=lambda path: path.name):
            if item.name.endswith(".csv"):
                _load_csv(con, f"lookup.{item.name.removesuffix('.csv')}", Path(str(item)))
        insert_rows(con, "lookup.round", _ROUND, round_rows(rounds, _loaded(con)))
        insert_rows(con, "lookup.rule", _RULE, rule_rows(rounds, seen))
        insert_rows(con, "lookup.comparable_span", _SPAN, span_rows(rounds))
        insert_rows(con, "lookup.soft_break", _SOFT_BREAK, soft_break_rows(rounds))
        load_corrections(con, records["corrections"] if corrections else [])


def load_corrections(con: duckdb.DuckDBPyConnection, records: Sequence[Mapping[str, Any]]) -> None:
    """Make lookup.correction and see that each fault is still there. Needs raw.*.

    A record whose file is not in the loaded round (a part of it, or a renamed folder) corrects
    nothing; it stands in lookup.correction_unplaced instead and becomes an issue.

    Raises:
        StaleCorrection: the file is there and holds another value than the record expects.
    """
    rows, unplaced = correction_rows(records), []
    loaded = _loaded(con)
    for row in rows:
        if row["round_id"] not in loaded:
            continue
        found = con.execute(
            f'SELECT CAST("{row["column_name"]}" AS VARCHAR) FROM {row["table_name"]} '  # noqa: S608
            "WHERE round_id = ? AND path = ?",
            [row["round_id"], row["path"]],
        ).fetchall()
        if not found:
            unplaced.append(row)
        elif not _is_same(found[0][0], row["expect"]):
            raise StaleCorrection(
                f"correction {row['correction_id']}: {row['round_id']} {row['path']} now holds "
                f"{found[0][0]!r} in {row['column_name']}, not {row['expect']!r}; upstream changed "
                "it: look again and mend or delete the record in warehouse/corrections.yml"
            )
    placed = [row for row in rows if row not in unplaced]
    insert_rows(con, "lookup.correction", _CORRECTION, placed)
    insert_rows(con, "lookup.correction_unplaced", _CORRECTION, unplaced)


def _load_csv(con: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """A lookup as it stands; round ranges (first, last) also as numbers, open where blank."""
    relation = con.read_csv(str(path), header=True, all_varchar=True, quotechar='"', delimiter=",")
    names, has_range = list(relation.columns), {"first", "last"} <= set(relation.columns)
    rows = [dict(zip(names, values, strict=True)) for values in relation.fetchall()]
    types = {name: _TYPES.get(table, {}).get(name, "VARCHAR") for name in names}
    if has_range:
        types |= {"first_number": "BIGINT", "last_number": "BIGINT"}
        for row in rows:
            row["first_number"] = round_number(row["first"]) if row["first"] else 0
            row["last_number"] = round_number(row["last"]) if row["last"] else _OPEN_END
    insert_rows(con, table, ", ".join(f'"{name}" {kind}' for name, kind in types.items()), rows)


def _loaded(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {str(row[0]) for row in con.sql("SELECT round_id FROM raw.round_version").fetchall()}


def _is_same(found: str | None, expected: str | None) -> bool:
    if found is None or expected is None:
        return found is expected
    try:
        return float(found) == float(expected)
    except ValueError:
        return found == expected
