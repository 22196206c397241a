"""Runs the SQL models of one layer in a warehouse that is being built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpurank.declared.contracts import RUN_ID, Contract, contract, layer_contracts
from gpurank.declared.models import Model, layer_models
from gpurank.errors import Exit, GpurankError
from tasks.build.load import create_empty, one_commit

if TYPE_CHECKING:
    import duckdb


class ModelRunError(GpurankError, RuntimeError):
    """A model failed, or returns other columns than its contract declares."""

    exit_code = Exit.VALIDATION


def run_layer(con: duckdb.DuckDBPyConnection, layer: str) -> dict[str, int]:
    """Makes every table and view of a layer, in the order in which they read each other.

    Args:
        con: an open connection to the warehouse (tasks.build.load.new_warehouse).
        layer: ``staging``, ``core``, ``metrics`` or ``marts``.

    Returns:
        Rows per table; views are left out.

    Raises:
        ModelRunError: a model failed, or its columns are not the declared ones.
    """
    row_counts = {}
    with one_commit(con):
        for model in layer_models(layer):
            if model.is_view:
                create_view(con, model)
            else:
                row_counts[model.table] = run_model(con, model)
    return row_counts


def run_model(con: duckdb.DuckDBPyConnection, model: Model) -> int:
    """Makes one model's table, sorted by its key, with its columns documented.

    Returns:
        The number of rows.

    Raises:
        ModelRunError: the model failed, or its columns are not the declared ones.
    """
    declared = contract(model.table)
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {model.layer}")
    try:
        columns = _select_list(con, model, declared)
        order = ", ".join(f'"{name}"' for name in declared.key)
        created = con.execute(
            f"CREATE OR REPLACE TABLE {model.table} AS SELECT {columns} "  # noqa: S608 (our files)
            f"FROM (\n{model.sql.rstrip().rstrip(';')}\n) ORDER BY {order}"
        ).fetchone()
    except ModelRunError:
        raise
    except Exception as error:
        raise ModelRunError(f"{model.table}: {error}") from error
    _comment(con, declared)
    return int(created[0]) if created else 0


def create_view(con: duckdb.DuckDBPyConnection, model: Model) -> None:
    """Makes the view that publishes a lower table under its name among the marts.

    Raises:
        ModelRunError: the lower table is not there.
    """
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {model.layer}")
    try:
        con.execute(f"CREATE OR REPLACE VIEW {model.table} AS {model.sql}")
    except Exception as error:
        raise ModelRunError(f"{model.table}: {error}") from error
    _comment(con, contract(model.table))


def prepare_analysis(con: duckdb.DuckDBPyConnection) -> None:
    """Makes the method's tables that are not there yet, empty, so that the marts can be built."""
    with one_commit(con):
        create_empty(con, (declared.table for declared in layer_contracts("analysis")))


def _select_list(con: duckdb.DuckDBPyConnection, model: Model, declared: Contract) -> str:
    """The declared columns, each cast to its declared type.

    Raises:
        ModelRunError: the model returns other columns, or types that a cast would change.
    """
    described = con.sql(f"DESCRIBE {model.sql.rstrip().rstrip(';')}").fetchall()
    returned = {str(name): str(kind) for name, kind, *_ in described}
    # A model may hand on the run_id of the rows that it reads; its own rows get another.
    known = {*declared.column_names, RUN_ID}
    faults = [f"lacks {name}" for name in declared.column_names if name not in returned]
    faults += [f"has {name}, not in its contract" for name in returned if name not in known]
    faults += [
        f"{column.name} is {returned[column.name]}, declared {column.column_type.duckdb}"
        for column in declared.columns
        if column.name in returned
        and not column.column_type.accepts_computed(returned[column.name])
    ]
    if faults:
        raise ModelRunError(f"{model.table}: " + "; ".join(faults))
    return ", ".join(
        f'CAST("{column.name}" AS {column.column_type.duckdb}) AS "{column.name}"'
        for column in declared.columns
    )


def _comment(con: duckdb.DuckDBPyConnection, declared: Contract) -> None:
    kind = "VIEW" if declared.shows else "TABLE"
    con.execute(f"COMMENT ON {kind} {declared.table} IS {_literal(declared.doc)}")
    for column in declared.columns:
        unit = f" [{column.unit}]" if column.unit else ""
        con.execute(
            f'COMMENT ON COLUMN {declared.table}."{column.name}" IS {_literal(column.doc + unit)}'
        )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
