"""The SQL that counts offending rows, run on rows that offend."""

from __future__ import annotations

import duckdb
import pytest

from gpurank.declared import check_sql
from gpurank.declared.contracts import parse_contract

CONTRACT = parse_contract(
    """
table: raw.system
grain: one system
key: [path, "odd\\"name"]
doc: Systems.
columns:
  - {name: path, type: string, doc: where}
  - {name: 'odd"name', type: string, nullable: true, doc: a name that wants quoting}
  - {name: notes, type: list_string, nullable: true, doc: several texts}
""",
    "raw/system.yml",
)


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("create schema raw")
    con.execute(
        "create table raw.system as from (values "
        "('a', 'x', ['fine']), ('a', 'x', ['write to jo.doe@example.org', 'now']), "
        "('b', null, null), (null, 'jo\\u0040example.org', []), ('c', 'a @ b', ['@'])) "
        'as rows (path, "odd""name", notes)'
    )
    return con


def one(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[object, ...]:
    (row,) = con.execute(sql).fetchall()
    return tuple(row)


def test_addresses_are_counted_in_texts_and_in_lists(con: duckdb.DuckDBPyConnection) -> None:
    for column, count in (("path", 0), ('odd"name', 1), ("notes", 1)):
        sql = check_sql.offending_count(CONTRACT, "no_email", column)
        assert one(con, sql) == (count,), column
    assert con.execute(check_sql.offending_rows(CONTRACT, "no_email", "notes")).fetchall() == [
        ("a", "x")
    ]
    assert one(con, check_sql.offending_count(CONTRACT, "not_null", "path")) == (1,)


def test_one_row_of_facts_a_table(con: duckdb.DuckDBPyConnection) -> None:
    sql = check_sql.facts_query(CONTRACT, ["path", 'odd"name'], ['odd"name', "notes"])
    # 5 rows, 1 and 1 nulls; an @ or its escape in two names and two lists.
    assert one(con, sql) == (5, 1, 1, 2, 2)


def test_a_key_that_comes_twice(con: duckdb.DuckDBPyConnection) -> None:
    assert con.execute(check_sql.repeated_keys(CONTRACT)).fetchall() == [("a", "x", 2)]


def test_types_as_the_database_calls_them() -> None:
    path, _, notes = CONTRACT.columns
    assert check_sql.has_declared_type(path, "VARCHAR")
    assert check_sql.has_declared_type(path, "ENUM('a', 'b')")
    assert not check_sql.has_declared_type(path, "BIGINT")
    assert check_sql.has_declared_type(notes, "VARCHAR[]")


def test_an_address_is_masked_in_messages() -> None:
    text = "ask jo.doe@example.org or jo\\u0040example.org"
    assert check_sql.masked(text) == "ask <e-mail> or <e-mail>"
