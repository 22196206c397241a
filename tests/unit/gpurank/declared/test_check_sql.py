"""The SQL that counts offending rows, run on rows that offend."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


EVENT = parse_contract(
    """
table: raw.event
grain: one record
key: [path, line, record]
doc: Records.
is_large: true
columns:
  - {name: path, type: string, doc: file}
  - {name: line, type: int32, doc: line}
  - {name: record, type: int32, doc: record}
""",
    "raw/event.yml",
)


def hint(rows: list[tuple[str | None, int | None, int | None]]) -> tuple[bool, bool]:
    """Whether rows are said to have a key each; whether one comes twice."""
    con = duckdb.connect()
    con.execute("create schema raw")
    con.execute("create table raw.event (path varchar, line integer, record integer)")
    if rows:
        con.executemany("insert into raw.event values (?, ?, ?)", rows)
    repeated = con.execute(check_sql.repeated_keys(EVENT)).fetchall()
    return one(con, check_sql.repeated_key_hints(EVENT)) == (0,), bool(repeated)


@pytest.mark.parametrize(
    ("rows", "is_proven"),
    [
        ([], True),
        ([("b", 1, 0), ("b", 1, 1), ("b", 2, 0), ("a", 1, 0), ("c", 7, 0)], True),
        ([("a", 1, 0), ("a", 1, 0)], False),  # twice, next to each other
        ([("a", 1, 0), ("b", 1, 0), ("a", 1, 0)], False),  # twice, apart
        ([("a", 1, 0), ("a", 2, 0), ("a", 1, 0)], False),
        ([("a", 2, 0), ("a", 1, 0)], False),  # once each, which this cannot tell
        ([("a", 1, 0), ("b", 1, 0), ("a", 2, 0)], False),
        ([("a", 1, None), ("a", 1, 1)], False),  # nulls compare with nothing
        ([(None, 1, 0), (None, 1, 1)], False),
    ],
)
def test_rows_in_their_order_prove_their_keys(
    rows: list[tuple[str | None, int | None, int | None]], is_proven: bool
) -> None:
    assert hint(rows)[0] is is_proven


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]),
            st.sampled_from([1, 2, None]),
            st.sampled_from([0, 1, None]),
        ),
        max_size=6,
    )
)
@settings(max_examples=60, deadline=None)
def test_no_key_that_comes_twice_is_ever_proven(
    rows: list[tuple[str | None, int | None, int | None]],
) -> None:
    is_proven, is_repeated = hint(rows)
    assert not (is_proven and is_repeated)


def test_types_as_the_database_calls_them() -> None:
    path, _, notes = CONTRACT.columns
    assert check_sql.has_declared_type(path, "VARCHAR")
    assert check_sql.has_declared_type(path, "ENUM('a', 'b')")
    assert not check_sql.has_declared_type(path, "BIGINT")
    assert check_sql.has_declared_type(notes, "VARCHAR[]")


def test_an_address_is_masked_in_messages() -> None:
    text = "ask jo.doe@example.org or jo\\u0040example.org"
    assert check_sql.masked(text) == "ask <e-mail> or <e-mail>"
