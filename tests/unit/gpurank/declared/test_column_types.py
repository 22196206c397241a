"""The ten column types as DuckDB, Arrow and Parquet know them."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from gpurank.declared.column_types import COLUMN_TYPES


@pytest.mark.parametrize("name", COLUMN_TYPES)
def test_an_arrow_column_is_stored_as_a_type_that_is_accepted(name: str) -> None:
    declared = COLUMN_TYPES[name]
    table = pa.table({"value": pa.array([], declared.arrow)})
    with duckdb.connect() as con:
        con.register("incoming", table)
        con.execute("create table stored as from incoming")
        ((_, stored, *_),) = con.execute("describe stored").fetchall()
    assert declared.accepts_stored(stored)


@pytest.mark.parametrize("name", COLUMN_TYPES)
def test_create_table_gives_the_type_that_models_must_return(name: str) -> None:
    declared = COLUMN_TYPES[name]
    with duckdb.connect() as con:
        con.execute(f"create table made (value {declared.duckdb})")
        ((_, made, *_),) = con.execute("describe made").fetchall()
    assert made == declared.duckdb
    assert declared.accepts_computed(made) and declared.accepts_stored(made)


@pytest.mark.parametrize(
    ("name", "stored", "is_accepted"),
    [
        ("string", "ENUM('a', 'b')", True),
        ("string", "BIGINT", False),
        ("dictionary", "VARCHAR", True),
        ("int64", "INTEGER", False),
        ("timestamp", "TIMESTAMP WITH TIME ZONE", True),
        ("list_string", "VARCHAR", False),
    ],
)
def test_stored_types(name: str, stored: str, is_accepted: bool) -> None:
    assert COLUMN_TYPES[name].accepts_stored(stored) is is_accepted


@pytest.mark.parametrize(
    ("name", "returned", "is_accepted"),
    [
        ("int64", "INTEGER", True),
        ("int64", "HUGEINT", True),  # sum() of integers
        ("int32", "BIGINT", False),  # may not fit
        ("int64", "DOUBLE", False),  # would be rounded
        ("double", "BIGINT", False),
        ("double", '"NULL"', True),  # a bare NULL has no type yet
    ],
)
def test_types_that_models_may_return(name: str, returned: str, is_accepted: bool) -> None:
    assert COLUMN_TYPES[name].accepts_computed(returned) is is_accepted
