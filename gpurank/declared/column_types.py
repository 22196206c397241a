"""The column types that contracts may use, with their names in DuckDB, Arrow and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ColumnType:
    """One column type.

    Attributes:
        arrow: the Arrow type of Parquet files and of frames on their way into DuckDB.
        duckdb: DuckDB's type, as in CREATE TABLE.
        croissant: the data type in Croissant metadata.
        frictionless: the field type in a Frictionless data package.
        also_stored_as: other DuckDB types under which a column of this type may be found.
        widened_from: DuckDB types that a SQL model may return and that are cast without loss.
        is_text: whether the values are text, or lists of text.
        is_list: whether the values are lists.
    """

    arrow: pa.DataType
    duckdb: str
    croissant: str
    frictionless: str
    also_stored_as: tuple[str, ...] = ()
    widened_from: tuple[str, ...] = ()
    is_text: bool = False
    is_list: bool = False

    def accepts_stored(self, duckdb_type: str) -> bool:
        """Returns whether a stored column of this DuckDB type has the declared type."""
        kind = "ENUM" if duckdb_type.startswith("ENUM(") else duckdb_type
        return kind in (self.duckdb, *self.also_stored_as)

    def accepts_computed(self, duckdb_type: str) -> bool:
        """Returns whether a model may return this DuckDB type; NULL without a type fits all."""
        return duckdb_type in (self.duckdb, '"NULL"', *self.widened_from)


COLUMN_TYPES: Mapping[str, ColumnType] = {
    "string": ColumnType(
        arrow=pa.string(),
        duckdb="VARCHAR",
        croissant="sc:Text",
        frictionless="string",
        also_stored_as=("ENUM",),
        is_text=True,
    ),
    "dictionary": ColumnType(
        arrow=pa.dictionary(pa.int32(), pa.string()),
        duckdb="VARCHAR",
        croissant="sc:Text",
        frictionless="string",
        also_stored_as=("ENUM",),
        is_text=True,
    ),
    "int32": ColumnType(
        arrow=pa.int32(),
        duckdb="INTEGER",
        croissant="sc:Integer",
        frictionless="integer",
        widened_from=("TINYINT", "SMALLINT"),
    ),
    "int64": ColumnType(
        arrow=pa.int64(),
        duckdb="BIGINT",
        croissant="sc:Integer",
        frictionless="integer",
        # DuckDB returns HUGEINT for the sum of integers; a value that does not fit is an error.
        widened_from=("TINYINT", "SMALLINT", "INTEGER", "UBIGINT", "HUGEINT"),
    ),
    "double": ColumnType(
        arrow=pa.float64(), duckdb="DOUBLE", croissant="sc:Float", frictionless="number"
    ),
    "bool": ColumnType(
        arrow=pa.bool_(), duckdb="BOOLEAN", croissant="sc:Boolean", frictionless="boolean"
    ),
    "date": ColumnType(arrow=pa.date32(), duckdb="DATE", croissant="sc:Date", frictionless="date"),
    "timestamp": ColumnType(
        arrow=pa.timestamp("us", tz="UTC"),
        duckdb="TIMESTAMP",
        croissant="sc:DateTime",
        frictionless="datetime",
        also_stored_as=("TIMESTAMP WITH TIME ZONE",),
    ),
    "list_double": ColumnType(
        arrow=pa.list_(pa.float64()),
        duckdb="DOUBLE[]",
        croissant="sc:Float",
        frictionless="array",
        is_list=True,
    ),
    "list_string": ColumnType(
        arrow=pa.list_(pa.string()),
        duckdb="VARCHAR[]",
        croissant="sc:Text",
        frictionless="array",
        is_text=True,
        is_list=True,
    ),
}
