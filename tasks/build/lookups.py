"""Makes lookup.*: reference tables, declared rounds and rules, declared corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from gpurank.declared.contracts import contract
from gpurank.declared.declarations import (
    correction_rows,
    round_number,
    round_rows,
    rule_rows,
    soft_break_rows,
    span_rows,
)
from gpurank.declared.rounds import Rounds, declared_rounds
from tasks.build.load import LoadError, create_table, one_commit

if TYPE_CHECKING:
    import duckdb

_OPEN_END = 2**62


class StaleCorrection(LoadError):
    """A declared correction does not apply any more, because the source changed."""


def load_lookups(
    con: duckdb.DuckDBPyConnection, rounds: Rounds | None = None, corrections: bool = True
) -> None:
    """Makes lookup.* from warehouse/lookups/*.csv, rounds.yml and corrections.yml.

    Args:
        con: the warehouse, with raw.folder and raw.round_version.
        rounds: the declared rounds; those of the package by default.
        corrections: whether to apply corrections; False reads the data as filed.

    Raises:
        StaleCorrection: a loaded round holds another value than a correction expects.
    """
    rounds = rounds or declared_rounds()
    folder = files("warehouse")
    records = yaml.safe_load(folder.joinpath("corrections.yml").read_text(encoding="utf-8"))
    seen = con.sql("SELECT DISTINCT round_id, benchmark_folder FROM raw.folder").fetchall()
    with one_commit(con):
        con.execute("CREATE SCHEMA IF NOT EXISTS lookup")
        for file in sorted(folder.joinpath("lookups").iterdir(), key=lambda path: path.name):
            if file.name.endswith(".csv"):
                _load_csv(con, f"lookup.{file.name.removesuffix('.csv')}", Path(str(file)))
        create_table(con, "lookup.round", round_rows(rounds, _loaded_rounds(con)))
        create_table(con, "lookup.rule", rule_rows(rounds, seen))
        create_table(con, "lookup.comparable_span", span_rows(rounds))
        create_table(con, "lookup.soft_break", soft_break_rows(rounds))
        load_corrections(con, records["corrections"] if corrections else [])


def load_corrections(con: duckdb.DuckDBPyConnection, records: Sequence[Mapping[str, Any]]) -> None:
    """Makes lookup.correction and checks that each fault is still there. Needs raw.*.

    A record whose file is not in the loaded round (which may be a part of a round, or have renamed
    folders) corrects nothing. It goes to lookup.correction_unplaced and becomes an issue.

    Raises:
        StaleCorrection: the file is there and holds another value than the record expects.
    """
    rows, unplaced = correction_rows(records), []
    loaded = _loaded_rounds(con)
    for row in rows:
        if row["round_id"] not in loaded:
            continue
        values = con.execute(
            f'SELECT CAST("{row["column_name"]}" AS VARCHAR) FROM {row["table_name"]} '  # noqa: S608
            "WHERE round_id = ? AND path = ?",
            [row["round_id"], row["path"]],
        ).fetchall()
        if not values:
            unplaced.append(row)
        elif not _is_same(values[0][0], row["expect"]):
            raise StaleCorrection(
                f"correction {row['correction_id']}: {row['round_id']} {row['path']} now holds "
                f"{values[0][0]!r} in {row['column_name']}, not {row['expect']!r}; upstream "
                "changed it: check it and edit or delete the record in warehouse/corrections.yml"
            )
    placed = [row for row in rows if row not in unplaced]
    create_table(con, "lookup.correction", placed)
    create_table(con, "lookup.correction_unplaced", unplaced)


def _load_csv(con: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """A lookup as its file has it; round ranges (first, last) also as numbers, open if blank."""
    relation = con.read_csv(str(path), header=True, all_varchar=True, quotechar='"', delimiter=",")
    names = list(relation.columns)
    rows = [dict(zip(names, values, strict=True)) for values in relation.fetchall()]
    if {"first", "last"} <= set(names):
        names += ["first_number", "last_number"]
        for row in rows:
            row["first_number"] = round_number(row["first"]) if row["first"] else 0
            row["last_number"] = round_number(row["last"]) if row["last"] else _OPEN_END
    if tuple(names) != contract(table).column_names:
        declared = ", ".join(contract(table).column_names)
        raise LoadError(f"{path} has the columns {', '.join(names)}, its contract {declared}")
    create_table(con, table, rows)


def _loaded_rounds(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {str(row[0]) for row in con.sql("SELECT round_id FROM raw.round_version").fetchall()}


def _is_same(value: str | None, expected: str | None) -> bool:
    if value is None or expected is None:
        return value is expected
    try:
        return float(value) == float(expected)
    except ValueError:
        return value == expected
