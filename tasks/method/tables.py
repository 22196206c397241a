"""Reads the method's input from a warehouse and writes its results as tables of analysis.*."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gpurank.declared.contracts import contract
from gpurank.errors import GpurankError

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

# Rows by table (``schema.name``), each with every column of the table's contract.
Rows = dict[str, list[dict[str, Any]]]


class MissingInput(GpurankError, RuntimeError):
    """The warehouse lacks a table that the method reads."""


def read_configuration(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Returns metrics.configuration as a frame, sorted by result_id.

    Raises:
        MissingInput: the table does not exist yet.
    """
    import duckdb
    import polars as pl

    try:
        query = con.sql("SELECT * FROM metrics.configuration ORDER BY result_id")
    except duckdb.CatalogException as error:
        raise MissingInput(
            f"the method's input is missing ({str(error).splitlines()[0]}); "
            "build the SQL layers up to metrics first"
        ) from error
    return pl.DataFrame(query.to_arrow_table())


def to_arrow(table: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Returns rows as an Arrow table with the columns and types of the table's contract."""
    import pyarrow as pa

    schema = contract(table).arrow_schema()
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for row in rows:
        for name, values in columns.items():
            values.append(row[name])
    return pa.Table.from_pydict(columns, schema=schema)


def write_tables(con: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> dict[str, int]:
    """Creates or replaces tables in one commit; returns the number of rows by table."""
    # Imported here because the processes that compute these tables never write them.
    from tasks.build.load import one_commit

    with one_commit(con):
        for name, rows in tables.items():
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {name.partition('.')[0]}")
            con.register("incoming", rows)
            con.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")  # noqa: S608
            con.unregister("incoming")
    return {name: rows.num_rows for name, rows in tables.items()}
