"""Counts of the rows that break each check, made in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpurank.declared import check_sql
from gpurank.declared.contracts import RUN_ID, Check, Contract, columns_of
from gpurank.declared.validation import (
    IMPLIED_WHY,
    filled_columns,
    implied_checks,
    searched_columns,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Fact:
    """Offending rows of one check, counted; ``error`` where counting was impossible."""

    table: str
    check: Check
    column: str | None
    count: int
    observed: str
    examples: tuple[str, ...] = ()
    error: str | None = None


def short(text: str) -> str:
    """An example as it may be shown: no e-mail address, one line, at most 200 characters."""
    text = " ".join(check_sql.masked(text).split())
    return text if len(text) <= 200 else text[:199] + "…"


def rows_text(count: int) -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return short((str(error).splitlines() or [type(error).__name__])[0])


def column_types(con: duckdb.DuckDBPyConnection, contract: Contract) -> dict[str, str]:
    """DuckDB's type of each column of the table, in its order, without the one that all have."""
    rows = con.execute(f"describe {check_sql.quoted(contract.table)}").fetchall()
    return {row[0]: row[1] for row in rows if row[0] != RUN_ID or contract.layer == "raw"}


def unreadable(contract: Contract, error: Exception) -> Fact:
    """The failure of a table that is not there or cannot be read."""
    check = Check("readable", "critical", IMPLIED_WHY["readable"])
    return Fact(contract.table, check, None, 1, "not readable", error=first_line(error))


def table_facts(
    con: duckdb.DuckDBPyConnection,
    contract: Contract,
    types: Mapping[str, str],
    previous: Mapping[str, int],
) -> tuple[list[Fact], int]:
    """Implied and SQL checks of one table, counted; and its rows."""
    filled = [name for name in filled_columns(contract) if name in types]
    searched = [name for name in searched_columns(contract) if name in types]
    # Fetched whole: DuckDB refuses the next query while a result is unfinished.
    query = check_sql.facts_query(contract, filled, searched)
    ((row_count, *counts),) = con.execute(query).fetchall()
    nulls = dict(zip(filled, counts, strict=False))
    hinted = [name for name, hint in zip(searched, counts[len(filled) :], strict=True) if hint]
    facts = []
    for check in implied_checks(contract):
        if check.name == "not_null":
            facts.append(_columns_fact(con, contract, check, nulls, row_count))
        elif check.name == "no_email":
            found = {
                name: _count(con, check_sql.offending_count(contract, "no_email", name))
                for name in hinted
            }
            facts.append(_columns_fact(con, contract, check, found, row_count))
        elif check.name == "shrink":
            facts.append(_shrink_fact(contract, check, row_count, previous))
        elif check.name == "not_empty":
            empty = int(row_count == 0)
            facts.append(Fact(contract.table, check, None, empty, rows_text(row_count)))
        elif check.name != "key_unique":
            facts.append(_shape_fact(contract, check, types))
        elif set(contract.key) <= set(types):
            facts.append(_key_fact(con, contract, check, row_count))
    facts += [
        _query_fact(con, contract, check, check.sql, row_count)
        for check in contract.checks
        if check.sql is not None
    ]
    return facts, row_count


def _columns_fact(
    con: duckdb.DuckDBPyConnection,
    contract: Contract,
    check: Check,
    counts: Mapping[str, int],
    row_count: int,
) -> Fact:
    """One check of many columns; an example names its column and the row's key."""
    offending = {column: count for column, count in counts.items() if count}
    if not offending:
        return Fact(contract.table, check, None, 0, f"0 of {rows_text(row_count)}")
    examples: list[str] = []
    for column in list(offending)[:EXAMPLES]:
        sql = check_sql.offending_rows(contract, check.name, column)
        examples += [f"{column} at {example}" for example in _examples(con, sql)[:1]]
    text = ", ".join(f"{count:,} in {column}" for column, count in offending.items())
    only = next(iter(offending)) if len(offending) == 1 else None
    observed = f"of {rows_text(row_count)}, {text}"
    return Fact(contract.table, check, only, sum(offending.values()), observed, tuple(examples))


def _shape_fact(contract: Contract, check: Check, types: Mapping[str, str]) -> Fact:
    if check.name == "types":
        wrong = [
            f"{column.name} is {types[column.name]}, declared {column.type}"
            for column in contract.columns
            if column.name in types and not check_sql.has_declared_type(column, types[column.name])
        ]
        observed = f"{len(wrong)} of {len(types)} columns"
        return Fact(contract.table, check, None, len(wrong), observed, tuple(wrong))
    names = [column.name for column in contract.columns]
    wrong = [f"{name} is missing" for name in names if name not in types]
    wrong += [f"{name} is not declared" for name in types if name not in names]
    if not wrong and names != list(types):
        wrong = [f"the order is {', '.join(types)}"]
    observed = f"{len(types)} columns, {len(names)} declared"
    return Fact(contract.table, check, None, len(wrong), observed, tuple(wrong))


def _shrink_fact(
    contract: Contract, check: Check, row_count: int, previous: Mapping[str, int]
) -> Fact:
    before = previous.get(contract.table, previous.get(contract.table.partition(".")[2]))
    if before is None:
        return Fact(contract.table, check, None, 0, f"{rows_text(row_count)}, no version before")
    needed = contract.min_share_of_previous * before
    count = 0 if row_count >= needed else before - row_count
    observed = f"{rows_text(row_count)} after {before:,}, {needed:,.0f} needed"
    return Fact(contract.table, check, None, count, observed)


def _key_fact(
    con: duckdb.DuckDBPyConnection, contract: Contract, check: Check, row_count: int
) -> Fact:
    is_ordered = contract.is_large and len(contract.key) > 1
    if is_ordered and _count(con, check_sql.repeated_key_hints(contract)) == 0:
        return Fact(contract.table, check, None, 0, f"0 of {rows_text(row_count)}")
    return _query_fact(con, contract, check, check_sql.repeated_keys(contract), row_count)


def _query_fact(
    con: duckdb.DuckDBPyConnection, contract: Contract, check: Check, sql: str, row_count: int
) -> Fact:
    import duckdb

    sql = sql.rstrip().rstrip(";")
    try:
        count = _count(con, f"select count(*) from ({sql})")  # noqa: S608
        examples = _examples(con, sql) if count else ()
    except duckdb.Error as error:
        return Fact(contract.table, check, None, 1, "not evaluated", error=first_line(error))
    return Fact(
        contract.table, check, None, count, f"{count:,} of {rows_text(row_count)}", examples
    )


def _count(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    ((count,),) = con.execute(sql).fetchall()
    return int(count)


def _examples(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[str, ...]:
    found = con.execute(f"select * from ({sql}) order by all limit {EXAMPLES}")  # noqa: S608
    names = [item[0] for item in found.description or ()]
    return tuple(
        short(", ".join(f"{name} = {value}" for name, value in zip(names, row, strict=True)))
        for row in found.fetchall()
    )


def checked_rows(
    con: duckdb.DuckDBPyConnection, contract: Contract, types: Mapping[str, str]
) -> pa.Table | None:
    """The columns that ``expect:`` checks name, and the key; None where there are none.

    A check that names no column gets them all.
    """
    checks = [check for check in contract.checks if check.expect]
    if not checks:
        return None
    named = [columns_of(check.arguments) for check in checks]
    needed = {*contract.key, *(name for names in named for name in names)}
    used = [
        column.name
        for column in contract.columns
        if column.name in types and (column.name in needed or not all(named))
    ]
    columns = ", ".join(check_sql.quoted(name) for name in used)
    query = f"select {columns} from {check_sql.quoted(contract.table)}"  # noqa: S608
    return con.sql(query).to_arrow_table()
