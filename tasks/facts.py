"""Counts of offending rows, made in DuckDB: what tasks/validate.py hands over to be judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from gpurank import check_sql
from gpurank.contracts import Check, Contract
from gpurank.validation import IMPLIED_WHY, implied_checks

EXAMPLES = 3
_PUBLIC_LAYERS = ("raw", "marts")


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
    """DuckDB's type of each column of the table, in its order."""
    rows = con.execute(f"describe {check_sql.quoted(contract.table)}").fetchall()
    return {row[0]: row[1] for row in rows}


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
    checks = implied_checks(contract, contract.layer in _PUBLIC_LAYERS)
    columns = [(check.name, column) for check, column in checks if column in types]
    # Fetched whole: DuckDB refuses the next query while a result is unfinished.
    (row,) = con.execute(check_sql.facts_query(contract, columns)).fetchall()
    row_count, counted = row[0], dict(zip(columns, row[1:], strict=True))
    facts = []
    for check, column in checks:
        if check.name in ("columns", "types"):
            facts.append(_shape_fact(contract, check, types))
        elif check.name == "shrink":
            facts.append(_shrink_fact(contract, check, row_count, previous))
        elif check.name == "not_empty":
            facts.append(
                Fact(contract.table, check, None, int(row_count == 0), rows_text(row_count))
            )
        elif check.name == "key_unique":
            if set(contract.key) <= set(types):
                sql = check_sql.repeated_keys(contract)
                facts.append(_query_fact(con, contract, check, sql, row_count))
        elif (check.name, column) in counted:
            count = counted[check.name, column]
            fact = Fact(
                contract.table, check, column, count, f"{count:,} of {rows_text(row_count)}"
            )
            sql = check_sql.offending_rows(contract, check.name, column)
            facts.append(replace(fact, examples=_examples(con, sql)) if count else fact)
    facts += [
        _query_fact(con, contract, check, check.sql, row_count)
        for check in contract.checks
        if check.sql is not None
    ]
    return facts, row_count


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


def _query_fact(
    con: duckdb.DuckDBPyConnection, contract: Contract, check: Check, sql: str, row_count: int
) -> Fact:
    sql = sql.rstrip().rstrip(";")
    try:
        ((count,),) = con.execute(f"select count(*) from ({sql})").fetchall()  # noqa: S608
        examples = _examples(con, sql) if count else ()
    except duckdb.Error as error:
        return Fact(contract.table, check, None, 1, "not evaluated", error=first_line(error))
    return Fact(
        contract.table, check, None, count, f"{count:,} of {rows_text(row_count)}", examples
    )


def _examples(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[str, ...]:
    found = con.execute(f"select * from ({sql}) order by all limit {EXAMPLES}")  # noqa: S608
    names = [item[0] for item in found.description or ()]
    return tuple(
        short(", ".join(f"{name} = {value}" for name, value in zip(names, row, strict=True)))
        for row in found.fetchall()
    )


def table_frame(
    con: duckdb.DuckDBPyConnection, contract: Contract, types: Mapping[str, str]
) -> Any | None:
    """The table as a pandas frame with Arrow-backed columns; None where nothing needs one."""
    if not any(check.expect for check in contract.checks):
        return None
    import pandas as pd

    used = [column.name for column in contract.columns if column.name in types]
    columns = ", ".join(check_sql.quoted(name) for name in used)
    query = f"select {columns} from {check_sql.quoted(contract.table)}"  # noqa: S608
    table = con.sql(query).to_arrow_table()
    # Plain pandas would turn integers with nulls into floats.
    return table.to_pandas(types_mapper=pd.ArrowDtype)
