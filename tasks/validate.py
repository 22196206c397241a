"""Validation of tables against their contracts: the only module that meets Great Expectations.

Offending rows of implied and of SQL checks are counted in DuckDB; the counts of all tables, as one
row, and the frames of tables with ``expect:`` checks are what Great Expectations judges. It is
imported inside a function, since its import takes seconds.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from gpurank.declared import check_sql
from gpurank.declared.contracts import Check, Contract, layer_contracts
from gpurank.declared.validation import IMPLIED_WHY, CheckResult, ValidationFailed, ValidationReport
from tasks.facts import (
    EXAMPLES,
    Fact,
    column_types,
    first_line,
    rows_text,
    short,
    table_facts,
    table_frame,
    unreadable,
)

# Its context is a singleton of the process; rounds may be validated from several threads.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one expectation; ``error`` where it was not loaded or raised."""

    is_passed: bool
    values: Mapping[str, Any]
    error: str | None = None


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
            gpurank.versions.store.Manifest); the SQL of checks sees it as ``getvariable('form')``.

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
    with duckdb.connect() as con:
        con.execute("create schema raw")
        con.execute("set variable form = ?", [form])
        for path in sorted(version_dir.glob("*.parquet")):
            name = check_sql.quoted(f"raw.{path.stem}")
            file = str(path).replace("'", "''")
            try:
                con.execute(f"create view {name} as from read_parquet('{file}')")
            except duckdb.Error:
                continue  # reported by the table's check "readable"
        return validate_layer(con, "raw", f"raw {round_id}", previous_counts)


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
    declared = layer_contracts(layer)
    report = validate_tables(con, declared, subject, previous_counts)
    found = con.execute(
        "select table_name from information_schema.tables where table_schema = ? order by 1",
        [layer],
    ).fetchall()
    unknown = sorted({f"{layer}.{name}" for (name,) in found} - {c.table for c in declared})
    missing = tuple(
        CheckResult(table, "contract", "critical", False, "no contract", IMPLIED_WHY["contract"])
        for table in unknown
    )
    report = replace(report, results=report.results + missing)
    if not report.is_passed:
        raise ValidationFailed(report)
    return report


def validate_tables(
    con: duckdb.DuckDBPyConnection,
    declared: Sequence[Contract],
    subject: str,
    previous_counts: Mapping[str, int] | None = None,
) -> ValidationReport:
    """Every check of the given contracts on the tables of a connection; never raises for data.

    Results stand in the order of the contracts: implied checks, ``sql:``, then ``expect:``.
    """
    previous = previous_counts or {}
    facts: list[Fact] = []
    counts: dict[str, int] = {}
    frames: list[tuple[Contract, Any]] = []
    for contract in declared:
        try:
            types = column_types(con, contract)
            found, counts[contract.table] = table_facts(con, contract, types, previous)
            frame = table_frame(con, contract, types)
        except duckdb.Error as error:
            facts.append(unreadable(contract, error))
            continue
        facts += found
        if frame is not None:
            frames.append((contract, frame))
    with _ONE_AT_A_TIME:
        judge = _Judge()
        results = judge.facts(facts)
        for contract, frame in frames:
            results += judge.frame(contract, frame)
    order = {contract.table: number for number, contract in enumerate(declared)}
    results.sort(key=lambda result: order[result.table])
    return ValidationReport(subject, tuple(results), judge.declared, judge.loaded, counts)


class _Judge:
    """Great Expectations, quiet and ephemeral; counts what it was given and what it ran."""

    def __init__(self) -> None:
        # Read when the package is imported: no telemetry.
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        import great_expectations as gx

        # It logs a traceback for each expectation it drops; the counts report those.
        logging.getLogger("great_expectations").setLevel(logging.CRITICAL)
        self._gx = gx
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
        # One asset for all frames: each new one would have the context write itself down.
        asset = context.data_sources.add_or_update_pandas("frames").add_dataframe_asset("frame")
        self._whole = asset.add_batch_definition_whole_dataframe("whole")
        self.declared = 0
        self.loaded = 0

    def facts(self, facts: Sequence[Fact]) -> list[CheckResult]:
        """Judge counted facts, a row each: each count must be 0.

        One expectation over all rows, since each of its own costs some ms and a layer has hundreds.
        """
        if not facts:
            return []
        import pandas as pd

        counts = pd.DataFrame({"offending_count": [fact.count for fact in facts]})
        bounds = {"column": "offending_count", "min_value": 0, "max_value": 0}
        (outcome,) = self._outcomes(
            counts, [("expect_column_values_to_be_between", bounds)], len(facts), "COMPLETE"
        )
        failed = set(outcome.values.get("unexpected_index_list") or ())
        judged = outcome.values.get("element_count", 0) - outcome.values.get("missing_count", 0)
        error = outcome.error
        if error is None and (judged != len(facts) or outcome.is_passed == bool(failed)):
            error = f"{judged} of {len(facts)} counts were judged"
        return [
            _fact_result(fact, _Outcome(number not in failed, {}, error))
            for number, fact in enumerate(facts)
        ]

    def frame(self, contract: Contract, frame: Any) -> list[CheckResult]:
        """Judge the ``expect:`` checks of one table."""
        checks = [check for check in contract.checks if check.expect is not None]
        wanted = [(f"expect_{check.expect}", dict(check.arguments)) for check in checks]
        return [
            _frame_result(contract, check, outcome, frame)
            for check, outcome in zip(checks, self._outcomes(frame, wanted), strict=True)
        ]

    def _outcomes(
        self,
        frame: Any,
        wanted: Sequence[tuple[str, dict[str, Any]]],
        checks_each: int = 1,
        result_format: str = "SUMMARY",
    ) -> list[_Outcome]:
        """One outcome each, in order; an error where it was not loaded or raised.

        ``checks_each``: checks that one expectation stands for.
        """
        outcomes = [_Outcome(False, {}, "great_expectations knows no such expectation")] * len(
            wanted
        )
        loaded = []
        for number, (name, arguments) in enumerate(wanted):
            config = {"type": name, "kwargs": arguments, "meta": {"number": number}}
            try:
                # A suite drops what it does not know without a word, hence the counting.
                loaded += self._gx.ExpectationSuite(name="one", expectations=[config]).expectations
            except Exception as error:  # whatever it raises, the check did not run
                outcomes[number] = _Outcome(False, {}, " ".join(str(error).split()))
        self.declared += len(wanted) * checks_each
        if not loaded:
            return outcomes
        suite = self._gx.ExpectationSuite(name="all", expectations=loaded)
        batch = self._whole.get_batch(batch_parameters={"dataframe": frame})
        options = {"result_format": result_format, "partial_unexpected_count": EXAMPLES}
        results = batch.validate(suite, result_format=options).results
        for result in results:
            number = result.expectation_config.meta["number"]  # type: ignore[union-attr]
            message = _raised(result.exception_info)
            self.loaded += checks_each * (message is None)
            outcomes[number] = _Outcome(bool(result.success), dict(result.result or {}), message)
        return outcomes


def _raised(info: Any) -> str | None:
    """The message of an exception inside an expectation; it stands at one of two depths."""
    entries = [info] if "raised_exception" in (info or {}) else list((info or {}).values())
    for entry in entries:
        if entry.get("raised_exception"):
            return first_line(Exception(entry.get("exception_message")))
    return None


def _fact_result(fact: Fact, outcome: _Outcome) -> CheckResult:
    error = fact.error or outcome.error
    return CheckResult(
        table=fact.table,
        check=fact.check.name,
        column=fact.column,
        severity="critical" if error else fact.check.severity,
        is_passed=outcome.is_passed and error is None,
        observed=f"not evaluated: {error}" if error else fact.observed,
        unexpected_count=fact.count,
        examples=fact.examples[:EXAMPLES],
        why=fact.check.why,
    )


def _frame_result(contract: Contract, check: Check, outcome: _Outcome, frame: Any) -> CheckResult:
    values, column = outcome.values, check.arguments.get("column")
    count = int(values.get("unexpected_count") or 0)
    if outcome.error:
        observed = f"not evaluated: {short(outcome.error)}"
    elif "unexpected_count" in values:
        observed = f"{count:,} of {rows_text(int(values.get('element_count', 0)))}"
    else:
        observed = f"observed {short(str(values.get('observed_value')))}"
    return CheckResult(
        table=contract.table,
        check=check.name,
        column=column,
        severity="critical" if outcome.error else check.severity,
        is_passed=outcome.is_passed and outcome.error is None,
        observed=observed,
        unexpected_count=count,
        examples=_value_examples(contract, column, values.get("partial_unexpected_list"), frame),
        why=check.why,
    )


def _value_examples(
    contract: Contract, column: str | None, values: Sequence[Any] | None, frame: Any
) -> tuple[str, ...]:
    """Offending values, each with the key of the first row that holds it."""
    import pandas as pd

    found: dict[str, None] = {}
    for value in (values or ())[:EXAMPLES]:
        text = str(value)
        if column in frame.columns and column not in contract.key:
            held = frame[column]
            rows = frame[held.isna() if pd.isna(value) else held == value]
            key = [f"{name} = {rows.iloc[0][name]}" for name in contract.key if len(rows)]
            text = f"{column} = {value}" + (f" at {', '.join(key)}" if key else "")
        found[short(text)] = None
    return tuple(found)
