"""The SQL of implied checks, run on rows that fail them."""

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


def only_row(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[object, ...]:
    (row,) = con.execute(sql).fetchall()
    return tuple(row)


def test_addresses_are_counted_in_texts_and_in_lists(con: duckdb.DuckDBPyConnection) -> None:
    expected: dict[str, list[tuple[str | None, str | None]]] = {
        "path": [],
        'odd"name': [(None, "jo\\u0040example.org")],
        "notes": [("a", "x")],
    }
    for column, keys in expected.items():
        sql = check_sql.failing_rows(CONTRACT, "no_email", column)
        assert con.execute(sql).fetchall() == keys, column
    sql = check_sql.failing_rows(CONTRACT, "not_null", "path")
    assert con.execute(sql).fetchall() == [(None, "jo\\u0040example.org")]


def test_one_query_counts_rows_nulls_and_hints(con: duckdb.DuckDBPyConnection) -> None:
    sql = check_sql.table_counts(CONTRACT, ["path", 'odd"name'], ['odd"name', "notes"])
    # 5 rows, 1 and 1 nulls; an @ or its escape in two names and two lists.
    assert only_row(con, sql) == (5, 1, 1, 2, 2)


def test_a_repeated_key_is_found_and_nulls_count_as_equal(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("insert into raw.system values ('b', null, null)")
    repeated = con.execute(check_sql.repeated_keys(CONTRACT)).fetchall()
    assert sorted(repeated) == [("a", "x", 2), ("b", None, 2)]


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


def prove(rows: list[tuple[str | None, int | None, int | None]]) -> tuple[bool, bool]:
    """Returns whether the order proves that keys are unique, and whether a key repeats."""
    con = duckdb.connect()
    con.execute("create schema raw")
    con.execute("create table raw.event (path varchar, line integer, record integer)")
    if rows:
        con.executemany("insert into raw.event values (?, ?, ?)", rows)
    repeated = con.execute(check_sql.repeated_keys(EVENT)).fetchall()
    return only_row(con, check_sql.unproven_keys(EVENT)) == (0,), bool(repeated)


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
def test_ordered_rows_prove_that_keys_are_unique(
    rows: list[tuple[str | None, int | None, int | None]], is_proven: bool
) -> None:
    assert prove(rows)[0] is is_proven


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
def test_a_repeated_key_is_never_proven_unique(
    rows: list[tuple[str | None, int | None, int | None]],
) -> None:
    is_proven, is_repeated = prove(rows)
    assert not (is_proven and is_repeated)
