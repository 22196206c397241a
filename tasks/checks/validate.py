"""Validation of tables against their contracts.

Offending rows of implied and of SQL checks are counted in DuckDB; the counts of all tables, as one
column, and the rows of tables with ``expect:`` checks are what Great Expectations judges
(tasks/checks/expectations.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpurank.declared import check_sql
from gpurank.declared.contracts import Contract, layer_contracts
from gpurank.declared.validation import IMPLIED_WHY, CheckResult, ValidationFailed, ValidationReport
from tasks.checks.counts import Fact, checked_rows, column_types, table_facts, unreadable
from tasks.checks.expectations import begin

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Counted:
    """Offending rows of some tables, counted, and rows that are judged themselves; not judged yet.

    ``unknown`` are results of tables that have no contract.
    """

    subject: str
    tables: tuple[str, ...]
    facts: tuple[Fact, ...]
    rows: tuple[tuple[Contract, pa.Table], ...]
    counts: dict[str, int]
    unknown: tuple[CheckResult, ...] = ()

    def begin(self) -> Callable[[], ValidationReport]:
        """Have all of it judged; the function that is given waits for the report."""
        verdict_of = begin(self.facts, self.rows)

        def finish() -> ValidationReport:
            verdict = verdict_of()
            order = {table: number for number, table in enumerate(self.tables)}
            results = sorted(verdict.results, key=lambda result: order[result.table])
            return ValidationReport(
                self.subject,
                (*results, *self.unknown),
                verdict.declared_count,
                verdict.loaded_count,
                self.counts,
            )

        return finish


def validate_version(
    version_dir: Path,
    round_id: str,
    previous_counts: Mapping[str, int] | None = None,
    form: str = "full",
) -> ValidationReport:
    """Check one raw version's Parquet files against expectations/raw, before it is published.

    Args:
        version_dir: folder with ``<table>.parquet`` of each raw table.
        round_id: the round, for messages.
        previous_counts: rows a table (``run`` or ``raw.run``) of the version in use; None or a
            table left out: no shrink limit.
        form: ``facts`` where events were reduced to the ones that runs point at (see
            gpurank.store.versions.Manifest); the SQL of checks sees it as ``getvariable('form')``.

    Returns:
        The report; its warnings become issue rows (gpurank.declared.validation.issue_rows).

    Raises:
        ValidationFailed: a critical check failed.
    """
    if form == "facts" and previous_counts:
        # Fewer events than in a full version are no loss.
        previous_counts = {
            name: count
            for name, count in previous_counts.items()
            if name not in ("event", "raw.event")
        }
    counted = _counted(version_dir, f"raw {round_id}", previous_counts, form)
    return _passed(counted.begin()())


def _counted(
    version_dir: Path, subject: str, previous_counts: Mapping[str, int] | None, form: str
) -> Counted:
    import duckdb

    # No round is read meanwhile (tasks/ingest/round.py), so that a second core is free.
    with duckdb.connect(config={"threads": 2}) as con:
        con.execute("create schema raw")
        con.execute("set variable form = ?", [form])
        for path in sorted(version_dir.glob("*.parquet")):
            name = check_sql.quoted(f"raw.{path.stem}")
            file = str(path).replace("'", "''")
            try:
                con.execute(f"create view {name} as from read_parquet('{file}')")
            except duckdb.Error:
                continue  # reported by the table's check "readable"
        return _layer(con, "raw", subject, previous_counts)


def validate_warehouse(
    con: duckdb.DuckDBPyConnection, layer: str, previous_counts: Mapping[str, int] | None = None
) -> ValidationReport:
    """Check the tables of one layer (DuckDB schema) against expectations/<layer>; raises as above.

    A table of the schema that has no contract is a critical failure.
    """
    return validate_layer(con, layer, layer, previous_counts)


def validate_layer(
    con: duckdb.DuckDBPyConnection,
    layer: str,
    subject: str,
    previous_counts: Mapping[str, int] | None = None,
) -> ValidationReport:
    """Check every contract of a layer, and that every table of the layer has one."""
    return begin_layer(con, layer, subject, previous_counts)()


def begin_layer(
    con: duckdb.DuckDBPyConnection,
    layer: str,
    subject: str,
    previous_counts: Mapping[str, int] | None = None,
) -> Callable[[], ValidationReport]:
    """Count what offends, now; the function that is given waits for what is made of it.

    That function raises ValidationFailed where a critical check failed.
    """
    finish = _layer(con, layer, subject, previous_counts).begin()
    return lambda: _passed(finish())


def validate_tables(
    con: duckdb.DuckDBPyConnection,
    declared: Sequence[Contract],
    subject: str,
    previous_counts: Mapping[str, int] | None = None,
) -> ValidationReport:
    """Every check of the given contracts on the tables of a connection; never raises for data.

    Results stand in the order of the contracts: implied checks, ``sql:``, then ``expect:``.
    """
    return _tables(con, declared, subject, previous_counts).begin()()


def _passed(report: ValidationReport) -> ValidationReport:
    if not report.is_passed:
        raise ValidationFailed(report)
    return report


def _layer(
    con: duckdb.DuckDBPyConnection,
    layer: str,
    subject: str,
    previous_counts: Mapping[str, int] | None,
) -> Counted:
    declared = layer_contracts(layer)
    counted = _tables(con, declared, subject, previous_counts)
    found = con.execute(
        "select table_name from information_schema.tables where table_schema = ? order by 1",
        [layer],
    ).fetchall()
    unknown = sorted({f"{layer}.{name}" for (name,) in found} - {c.table for c in declared})
    missing = tuple(
        CheckResult(table, "contract", "critical", False, "no contract", IMPLIED_WHY["contract"])
        for table in unknown
    )
    return replace(counted, unknown=missing)


def _tables(
    con: duckdb.DuckDBPyConnection,
    declared: Sequence[Contract],
    subject: str,
    previous_counts: Mapping[str, int] | None,
) -> Counted:
    import duckdb

    previous = previous_counts or {}
    facts: list[Fact] = []
    counts: dict[str, int] = {}
    rows: list[tuple[Contract, pa.Table]] = []
    for contract in declared:
        try:
            types = column_types(con, contract)
            found, counts[contract.table] = table_facts(con, contract, types, previous)
            held = checked_rows(con, contract, types)
        except duckdb.Error as error:
            facts.append(unreadable(contract, error))
            continue
        facts += found
        if held is not None:
            rows.append((contract, held))
    tables = tuple(contract.table for contract in declared)
    return Counted(subject, tables, tuple(facts), tuple(rows), counts)
