"""Read the method's input from a warehouse, write its results back as analysis.* tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import duckdb

from gpurank.declared.contracts import contract
from tasks.load import one_commit

if TYPE_CHECKING:
    import polars as pl


class MissingInput(RuntimeError):
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
    import polars as pl

    try:
        return pl.DataFrame(con.sql(query).to_arrow_table())
    except duckdb.CatalogException as error:
        raise MissingInput(
            f"the method's input is not there ({str(error).splitlines()[0]}); "
            "build the SQL layers up to metrics, then select, cluster and rank in this order"
        ) from error


def write(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Replace a table by rows that carry every column of its contract; returns their number."""
    import pyarrow as pa

    schema = contract(table).arrow_schema()
    listed = [{name: row[name] for name in schema.names} for row in rows]
    with one_commit(con):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.partition('.')[0]}")
        con.register("incoming", pa.Table.from_pylist(listed, schema=schema))
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming")  # noqa: S608
        con.unregister("incoming")
    return len(listed)
