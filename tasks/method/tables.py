"""Read the method's input from a warehouse, write its results back as analysis.* tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gpurank.declared.contracts import contract
from gpurank.errors import GpurankError

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

# Tables (``schema.name``) of rows, each with every column of the table's contract.
Rows = dict[str, list[dict[str, Any]]]


class MissingInput(GpurankError, RuntimeError):
    """The warehouse lacks a table that a stage of the method reads: says which and what to do."""


def read_configuration(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """metrics.configuration as a frame, sorted by result_id.

    Raises:
        MissingInput: the table is not there yet; the SQL layers come first.
    """
    return read(con, "SELECT * FROM metrics.configuration ORDER BY result_id")


def read(con: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    """The rows of a query as a frame.

    Raises:
        MissingInput: a table it reads is not there yet.
    """
    import duckdb
    import polars as pl

    try:
        return pl.DataFrame(con.sql(query).to_arrow_table())
    except duckdb.CatalogException as error:
        raise MissingInput(
            f"the method's input is not there ({str(error).splitlines()[0]}); "
            "build the SQL layers up to metrics first"
        ) from error


def columns(table: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows that carry every column of a table's contract, as Arrow."""
    import pyarrow as pa

    schema = contract(table).arrow_schema()
    listed = [{name: row[name] for name in schema.names} for row in rows]
    return pa.Table.from_pylist(listed, schema=schema)


def write(con: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> dict[str, int]:
    """Make or replace tables (``schema.name`` to columns) in one commit; gives their rows."""
    # Here and not above: a process that computes these tables has no use for the warehouse.
    from tasks.build.load import one_commit

    with one_commit(con):
        for name, held in tables.items():
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {name.partition('.')[0]}")
            con.register("incoming", held)
            con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")  # noqa: S608
            con.unregister("incoming")
    return {name: held.num_rows for name, held in tables.items()}
