"""Validates tables against their contracts and reports every check.

DuckDB counts the rows that fail the implied and the ``sql:`` checks (tasks/checks/counts.py). Great
Expectations evaluates the ``expect:`` checks (tasks/checks/expectations.py). One report holds both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpurank.declared.check_sql import quote
from gpurank.declared.contracts import Contract, layer_contracts, version_contracts
from gpurank.declared.validation import (
    IMPLIED_WHY,
    CheckResult,
    ValidationFailed,
    ValidationReport,
    implied_checks,
)
from tasks.checks.counts import count_failing_rows, not_readable
from tasks.checks.expectations import evaluate_expectations

if TYPE_CHECKING:
    import duckdb


def validate_version(
    version_dir: Path,
    round_id: str,
    previous_counts: Mapping[str, int] | None = None,
    form: str = "full",
) -> ValidationReport:
    """Checks one version's Parquet files against expectations/raw before it is published.

    Args:
        version_dir: the folder with ``<table>.parquet`` of each raw table.
        round_id: the round, for messages.
        previous_counts: rows per table (``run`` or ``raw.run``) of the version in use. A table
            that is left out may shrink; so may all tables if it is None.
        form: ``facts`` if the events were reduced to those that runs point at (see
            gpurank.store.versions.Manifest). The SQL of checks sees it as ``getvariable('form')``.

    Returns:
        The report; its warnings become issue rows (gpurank.declared.validation.issue_rows).

    Raises:
        ValidationFailed: a critical check failed.
    """
    import duckdb

    previous = dict(previous_counts or {})
    if form == "facts":
        # A version of facts holds fewer events than a full one without having lost any.
        previous.pop("event", None)
        previous.pop("raw.event", None)
    # Rounds are not read while one is validated (tasks/ingest/round.py), so both cores are free.
    with duckdb.connect(config={"threads": 2}) as con:
        con.execute("create schema raw")
        con.execute("set variable form = ?", [form])
        for path in sorted(version_dir.glob("*.parquet")):
            file = str(path).replace("'", "''")
            try:
                con.execute(
                    f"create view {quote(f'raw.{path.stem}')} as from read_parquet('{file}')"
                )
            except duckdb.Error:
                continue  # the check "readable" reports the table
        return _validate(con, "raw", version_contracts(), f"raw {round_id}", previous)


def validate_layer(
    con: duckdb.DuckDBPyConnection,
    layer: str,
    subject: str,
    previous_counts: Mapping[str, int] | None = None,
) -> ValidationReport:
    """Checks the tables of one layer (a DuckDB schema) against expectations/<layer>.

    Args:
        con: a connection to the warehouse.
        layer: the schema.
        subject: what to call it in messages.
        previous_counts: rows per table of the warehouse before; None for no comparison.

    Raises:
        ValidationFailed: a critical check failed, or a table of the schema has no contract.
    """
    return _validate(con, layer, layer_contracts(layer), subject, previous_counts or {})


def _validate(
    con: duckdb.DuckDBPyConnection,
    layer: str,
    contracts: Sequence[Contract],
    subject: str,
    previous_counts: Mapping[str, int],
) -> ValidationReport:
    """Results come in the order of the contracts: implied checks, ``sql:``, then ``expect:``."""
    import duckdb

    results: list[CheckResult] = []
    row_counts: dict[str, int] = {}
    for contract in contracts:
        try:
            counted, row_counts[contract.table] = count_failing_rows(con, contract, previous_counts)
            results += [*counted, *evaluate_expectations(con, contract)]
        except duckdb.Error as error:
            results.append(not_readable(contract, error))
    report = ValidationReport(
        subject=subject,
        results=(*results, *_tables_without_contract(con, layer, contracts)),
        # Counted from the contracts and not from the results, so that a check that was dropped
        # on the way is noticed.
        declared_count=sum(len(implied_checks(each)) + len(each.checks) for each in contracts),
        evaluated_count=sum(result.is_evaluated for result in results),
        row_counts=row_counts,
    )
    if not report.is_passed:
        raise ValidationFailed(report)
    return report


def _tables_without_contract(
    con: duckdb.DuckDBPyConnection, layer: str, contracts: Sequence[Contract]
) -> list[CheckResult]:
    query = "select table_name from information_schema.tables where table_schema = ? order by 1"
    tables = [f"{layer}.{name}" for (name,) in con.execute(query, [layer]).fetchall()]
    declared = {contract.table for contract in contracts}
    return [
        CheckResult(table, "contract", "critical", False, "no contract", IMPLIED_WHY["contract"])
        for table in tables
        if table not in declared
    ]
