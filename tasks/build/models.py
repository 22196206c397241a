"""Run one SQL layer in a warehouse that is being built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpurank.declared.contracts import RUN_ID, Contract, contract, contracts
from gpurank.declared.models import Model, layer_models
from gpurank.errors import Exit, GpurankError
from tasks.build.load import create_empty, one_commit, sql_type

if TYPE_CHECKING:
    import duckdb

# Narrower integers may stand where a contract declares wider ones; anything else is a fault.
_WIDENED = {
    ("INTEGER", "BIGINT"), ("HUGEINT", "BIGINT"), ("UBIGINT", "BIGINT"), ("SMALLINT", "BIGINT"),
    ("TINYINT", "BIGINT"), ("SMALLINT", "INTEGER"), ("TINYINT", "INTEGER"),
}  # fmt: skip


class ModelRunError(GpurankError, RuntimeError):
    """A model failed or gave other columns than its contract: says which and where."""

    exit_code = Exit.VALIDATION


def run_layer(con: duckdb.DuckDBPyConnection, layer: str) -> dict[str, int]:
    """Make every table of a layer, in the order in which they read each other.

    Args:
        con: an open connection to the warehouse (tasks.build.load.new_warehouse).
        layer: ``staging``, ``core``, ``metrics`` or ``marts``.

    Returns:
        Rows a table.

    Raises:
        ModelRunError: a model failed, or its columns are not the declared ones.
    """
    with one_commit(con):
        return {model.table: run_model(con, model) for model in layer_models(layer)}


def run_model(con: duckdb.DuckDBPyConnection, model: Model) -> int:
    """Make one model's table, sorted by its key, with its columns documented; gives its rows."""
    declared = contract(model.table)
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {model.layer}")
    try:
        columns = _columns(con, model, declared)
        order = ", ".join(f'"{name}"' for name in declared.key)
        made = con.execute(
            f"CREATE OR REPLACE TABLE {model.table} AS SELECT {columns} "  # noqa: S608 (our files)
            f"FROM (\n{model.sql.rstrip().rstrip(';')}\n) ORDER BY {order}"
        ).fetchone()
    except ModelRunError:
        raise
    except Exception as error:
        raise ModelRunError(f"{model.table}: {error}") from error
    _comment(con, declared)
    return int(made[0]) if made else 0


def prepare_analysis(con: duckdb.DuckDBPyConnection) -> None:
    """Make the method's tables that are not there yet, empty, so that the marts can be built."""
    with one_commit(con):
        create_empty(con, (item.table for item in contracts() if item.layer == "analysis"))


def _columns(con: duckdb.DuckDBPyConnection, model: Model, declared: Contract) -> str:
    described = con.sql(f"DESCRIBE {model.sql.rstrip().rstrip(';')}").fetchall()
    found = {str(name): str(kind) for name, kind, *_ in described}
    wanted = {column.name: sql_type(column.type) for column in declared.columns}
    faults = [f"lacks {name}" for name in wanted if name not in found]
    # The run of the rows that were read is not the one of the rows that are made.
    known = {*wanted, RUN_ID}
    faults += [f"has {name}, not in its contract" for name in found if name not in known]
    for name, kind in wanted.items():
        have = found.get(name, kind)
        if have != kind and (have, kind) not in _WIDENED and have != '"NULL"':
            faults.append(f"{name} is {have}, declared {kind}")
    if faults:
        raise ModelRunError(f"{model.table}: " + "; ".join(faults))
    return ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in wanted.items())


def _comment(con: duckdb.DuckDBPyConnection, declared: Contract) -> None:
    con.execute(f"COMMENT ON TABLE {declared.table} IS {_quoted(declared.doc)}")
    for column in declared.columns:
        unit = f" [{column.unit}]" if column.unit else ""
        con.execute(
            f'COMMENT ON COLUMN {declared.table}."{column.name}" IS {_quoted(column.doc + unit)}'
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
