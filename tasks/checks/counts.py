"""Implied checks and ``sql:`` checks: DuckDB counts the rows that fail, and the count must be 0."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpurank.declared import check_sql
from gpurank.declared.contracts import RUN_ID, Check, Contract
from gpurank.declared.validation import (
    IMPLIED_WHY,
    CheckResult,
    filled_columns,
    implied_checks,
    searched_columns,
)

if TYPE_CHECKING:
    import duckdb

EXAMPLES = 3
_EXAMPLE_LENGTH = 200


def count_failing_rows(
    con: duckdb.DuckDBPyConnection, contract: Contract, previous_counts: Mapping[str, int]
) -> tuple[list[CheckResult], int]:
    """Runs the implied and the ``sql:`` checks of one table.

    Args:
        con: a connection that sees the table.
        contract: the table's contract.
        previous_counts: rows per table (``run`` or ``raw.run``) of the version before.

    Returns:
        The results, implied checks first, and the table's number of rows.

    Raises:
        duckdb.Error: the table is absent or cannot be read.
    """
    types = column_types(con, contract)
    filled = [name for name in filled_columns(contract) if name in types]
    searched = [name for name in searched_columns(contract) if name in types]
    query = check_sql.table_counts(contract, filled, searched)
    ((row_count, *counts),) = con.execute(query).fetchall()
    table = _Table(
        con=con,
        contract=contract,
        types=types,
        row_count=row_count,
        nulls=dict(zip(filled, counts, strict=False)),
        email_hints=dict(zip(searched, counts[len(filled) :], strict=True)),
    )
    results = [
        _check_shrinkage(table, check, previous_counts)
        if check.name == "shrink"
        else _IMPLIED[check.name](table, check)
        for check in implied_checks(contract)
    ]
    results += [
        _check_query(table, check, check.sql) for check in contract.checks if check.sql is not None
    ]
    return results, row_count


@dataclass(frozen=True, slots=True)
class _Table:
    """A table with what one query counts: rows, nulls and e-mail hints per column."""

    con: duckdb.DuckDBPyConnection
    contract: Contract
    types: Mapping[str, str]
    row_count: int
    nulls: Mapping[str, int]
    email_hints: Mapping[str, int]


def column_types(con: duckdb.DuckDBPyConnection, contract: Contract) -> dict[str, str]:
    """Returns DuckDB's type of each column, in order, without an undeclared ``run_id``.

    Raw tables are checked as files of a version, which hold no ``run_id``.
    """
    rows = con.execute(f"describe {check_sql.quote(contract.table)}").fetchall()
    is_kept = contract.layer == "raw" or RUN_ID in contract.column_names
    return {name: kind for name, kind, *_ in rows if name != RUN_ID or is_kept}


def result_of(
    contract: Contract,
    check: Check,
    failing_count: int,
    observed: str,
    examples: Sequence[str] = (),
    column: str | None = None,
) -> CheckResult:
    """Returns the result of a check of which so many rows or columns fail."""
    return CheckResult(
        table=contract.table,
        check=check.name,
        severity=check.severity,
        is_passed=failing_count == 0,
        observed=observed,
        why=check.why,
        column=column,
        failing_count=failing_count,
        examples=tuple(examples[:EXAMPLES]),
    )


def not_evaluated(
    contract: Contract, check: Check, message: str, column: str | None = None
) -> CheckResult:
    """Returns the failure of a check that could not be run: critical, whatever its severity."""
    return CheckResult(
        table=contract.table,
        check=check.name,
        severity="critical",
        is_passed=False,
        observed=f"not evaluated: {shorten(message)}",
        why=check.why,
        column=column,
        is_evaluated=False,
    )


def not_readable(contract: Contract, error: Exception) -> CheckResult:
    """Returns the failure of a table that is absent or cannot be read."""
    check = Check("readable", "critical", IMPLIED_WHY["readable"])
    return not_evaluated(contract, check, first_line(error))


def shorten(text: str) -> str:
    """Returns an example fit to show: no e-mail address, one line, at most 200 characters."""
    line = " ".join(check_sql.mask_emails(text).split())
    return line if len(line) <= _EXAMPLE_LENGTH else line[: _EXAMPLE_LENGTH - 1] + "…"


def rows_text(count: int) -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message, or the name of its class."""
    return shorten((str(error).splitlines() or [type(error).__name__])[0])


def _check_columns(table: _Table, check: Check) -> CheckResult:
    declared, types = table.contract.column_names, table.types
    faults = [f"{name} is missing" for name in declared if name not in types]
    faults += [f"{name} is not declared" for name in types if name not in declared]
    if not faults and declared != tuple(types):
        faults = [f"the order is {', '.join(types)}"]
    observed = f"{len(types)} columns, {len(declared)} declared"
    return result_of(table.contract, check, len(faults), observed, faults)


def _check_types(table: _Table, check: Check) -> CheckResult:
    types = table.types
    faults = [
        f"{column.name} is {types[column.name]}, declared {column.type}"
        for column in table.contract.columns
        if column.name in types and not column.column_type.accepts_stored(types[column.name])
    ]
    observed = f"{len(faults)} of {len(types)} columns"
    return result_of(table.contract, check, len(faults), observed, faults)


def _check_not_empty(table: _Table, check: Check) -> CheckResult:
    return result_of(table.contract, check, int(table.row_count == 0), rows_text(table.row_count))


def _check_key(table: _Table, check: Check) -> CheckResult:
    contract = table.contract
    missing = [name for name in contract.key if name not in table.types]
    if missing:
        return not_evaluated(contract, check, f"{', '.join(missing)} is missing")
    if contract.is_large and len(contract.key) > 1:
        ((unproven,),) = table.con.execute(check_sql.unproven_keys(contract)).fetchall()
        if unproven == 0:
            return result_of(contract, check, 0, f"0 of {rows_text(table.row_count)}")
    return _check_query(table, check, check_sql.repeated_keys(contract))


def _check_not_null(table: _Table, check: Check) -> CheckResult:
    return _check_each_column(table, check, table.nulls)


def _check_no_email(table: _Table, check: Check) -> CheckResult:
    counts = {
        name: _count(table.con, check_sql.failing_rows(table.contract, check.name, name))
        for name, hint in table.email_hints.items()
        if hint
    }
    return _check_each_column(table, check, counts)


def _check_each_column(table: _Table, check: Check, counts: Mapping[str, int]) -> CheckResult:
    """One check of many columns; an example names its column and the key of a failing row."""
    rows = rows_text(table.row_count)
    failing = {column: count for column, count in counts.items() if count}
    if not failing:
        return result_of(table.contract, check, 0, f"0 of {rows}")
    examples = []
    for column in list(failing)[:EXAMPLES]:
        query = check_sql.failing_rows(table.contract, check.name, column)
        examples += [f"{column} at {row}" for row in _examples(table.con, query)[:1]]
    counted = ", ".join(f"{count:,} in {column}" for column, count in failing.items())
    return result_of(
        table.contract,
        check,
        sum(failing.values()),
        f"of {rows}, {counted}",
        examples,
        column=next(iter(failing)) if len(failing) == 1 else None,
    )


_IMPLIED: Mapping[str, Callable[[_Table, Check], CheckResult]] = {
    "columns": _check_columns,
    "types": _check_types,
    "not_empty": _check_not_empty,
    "key_unique": _check_key,
    "not_null": _check_not_null,
    "no_email": _check_no_email,
}


def _check_shrinkage(
    table: _Table, check: Check, previous_counts: Mapping[str, int]
) -> CheckResult:
    contract, row_count = table.contract, table.row_count
    name = contract.table.partition(".")[2]
    before = previous_counts.get(contract.table, previous_counts.get(name))
    if before is None:
        return result_of(contract, check, 0, f"{rows_text(row_count)}, no version before")
    needed = contract.min_share_of_previous * before
    lost = 0 if row_count >= needed else before - row_count
    observed = f"{rows_text(row_count)} after {before:,}, {needed:,.0f} needed"
    return result_of(contract, check, lost, observed)


def _check_query(table: _Table, check: Check, sql: str) -> CheckResult:
    """The check passes if the query returns no row."""
    import duckdb

    sql = sql.rstrip().rstrip(";")
    try:
        count = _count(table.con, sql)
        examples = _examples(table.con, sql) if count else ()
    except duckdb.Error as error:
        return not_evaluated(table.contract, check, first_line(error))
    observed = f"{count:,} of {rows_text(table.row_count)}"
    return result_of(table.contract, check, count, observed, examples)


def _count(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    ((count,),) = con.execute(f"select count(*) from ({sql})").fetchall()  # noqa: S608
    return int(count)


def _examples(con: duckdb.DuckDBPyConnection, sql: str) -> tuple[str, ...]:
    query = f"select * from ({sql}) order by all limit {EXAMPLES}"  # noqa: S608
    result = con.execute(query)
    names = [column[0] for column in result.description or ()]
    return tuple(
        shorten(", ".join(f"{name} = {value}" for name, value in zip(names, row, strict=True)))
        for row in result.fetchall()
    )
