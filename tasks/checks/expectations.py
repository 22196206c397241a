"""Great Expectations: evaluates the ``expect:`` checks of a table.

It is imported inside functions, because importing it takes seconds, and only where a table has such
checks.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from gpurank.declared.check_sql import quote
from gpurank.declared.contracts import Check, Contract, columns_of
from gpurank.declared.validation import CheckResult
from tasks.checks.counts import (
    EXAMPLES,
    column_types,
    first_line,
    not_evaluated,
    rows_text,
    shorten,
)

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

# Great Expectations keeps one context per process, and several threads may validate rounds.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What Great Expectations says about one expectation; ``error`` where it was not evaluated."""

    is_passed: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


def evaluate_expectations(con: duckdb.DuckDBPyConnection, contract: Contract) -> list[CheckResult]:
    """Evaluates the ``expect:`` checks of one table, in declared order.

    A check that Great Expectations does not know or cannot evaluate fails as critical.

    Raises:
        duckdb.Error: the table is absent or cannot be read.
    """
    checks = [check for check in contract.checks if check.expect is not None]
    if not checks:
        return []
    frame = _read_frame(con, contract, checks)
    with _ONE_AT_A_TIME:
        outcomes = _evaluate(frame, checks)
    return [
        _result(contract, check, outcome, frame)
        for check, outcome in zip(checks, outcomes, strict=True)
    ]


def _read_frame(
    con: duckdb.DuckDBPyConnection, contract: Contract, checks: Sequence[Check]
) -> pd.DataFrame:
    """The key and the columns that checks name; all columns for a check that names none."""
    import pandas as pd

    types = column_types(con, contract)
    named = [columns_of(check.arguments) for check in checks]
    needed = {*contract.key, *(name for names in named for name in names)}
    names = [
        name
        for name in contract.column_names
        if name in types and (name in needed or not all(named))
    ]
    query = f"select {', '.join(map(quote, names))} from {quote(contract.table)}"  # noqa: S608
    # With its own types pandas would turn integers with nulls into floats.
    frame: pd.DataFrame = con.sql(query).to_arrow_table().to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _evaluate(frame: pd.DataFrame, checks: Sequence[Check]) -> list[_Outcome]:
    """One outcome per check, in order.

    Great Expectations drops an expectation that it does not know without an error. Each check
    therefore counts as not evaluated until a result with its number arrives.
    """
    import great_expectations as gx

    batch_definition = _batch_definition()
    outcomes = [_Outcome(error="Great Expectations knows no such expectation")] * len(checks)
    expectations = []
    for number, check in enumerate(checks):
        config = {
            "type": f"expect_{check.expect}",
            "kwargs": dict(check.arguments),
            "meta": {"number": number},
        }
        try:
            suite = gx.ExpectationSuite(name="one", expectations=[config])
        except Exception as error:  # it raises many kinds for arguments that it does not accept
            outcomes[number] = _Outcome(error=str(error))
        else:
            expectations += suite.expectations
    if not expectations:
        return outcomes
    suite = gx.ExpectationSuite(name="all", expectations=expectations)
    batch = batch_definition.get_batch({"dataframe": frame})
    result_format = {"result_format": "BASIC", "partial_unexpected_count": EXAMPLES}
    for result in batch.validate(suite, result_format=result_format).results:
        number = result.expectation_config.meta["number"]
        outcomes[number] = _Outcome(
            is_passed=bool(result.success),
            values=dict(result.result or {}),
            error=_exception_message(result.exception_info),
        )
    return outcomes


@cache
def _batch_definition() -> Any:
    """A batch definition of whole data frames in a context without files."""
    # Great Expectations reads this when it is imported; it turns telemetry off.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx

    # It logs a traceback for each expectation that it drops; the report says so anyway.
    logging.getLogger("great_expectations").setLevel(logging.CRITICAL)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    asset = context.data_sources.add_pandas("tables").add_dataframe_asset("table")
    return asset.add_batch_definition_whole_dataframe("whole")


def _exception_message(info: Any) -> str | None:
    """The message of an exception inside an expectation, which is at one of two depths."""
    entries = [info] if "raised_exception" in (info or {}) else list((info or {}).values())
    for entry in entries:
        if entry.get("raised_exception"):
            return first_line(Exception(entry.get("exception_message")))
    return None


def _result(
    contract: Contract, check: Check, outcome: _Outcome, frame: pd.DataFrame
) -> CheckResult:
    values, column = outcome.values, check.arguments.get("column")
    if outcome.error is not None:
        return not_evaluated(contract, check, outcome.error, column)
    failing_count = int(values.get("unexpected_count") or 0)
    if "unexpected_count" in values:
        rows = rows_text(int(values.get("element_count", 0)))
        observed = f"{failing_count:,} of {rows}"
    else:
        observed = f"observed {shorten(str(values.get('observed_value')))}"
    return CheckResult(
        table=contract.table,
        check=check.name,
        severity=check.severity,
        is_passed=outcome.is_passed,
        observed=observed,
        why=check.why,
        column=column,
        failing_count=failing_count,
        examples=_examples(contract, column, values.get("partial_unexpected_list"), frame),
    )


def _examples(
    contract: Contract, column: str | None, values: Sequence[Any] | None, frame: pd.DataFrame
) -> tuple[str, ...]:
    """Failing values, each with the key of the first row that holds it."""
    import pandas as pd

    examples: dict[str, None] = {}
    for value in (values or ())[:EXAMPLES]:
        text = str(value)
        if column in frame.columns and column not in contract.key:
            cells = frame[column]
            rows = frame[cells.isna() if pd.isna(value) else cells == value]
            key = [f"{name} = {rows.iloc[0][name]}" for name in contract.key if len(rows)]
            text = f"{column} = {value}" + (f" at {', '.join(key)}" if key else "")
        examples[shorten(text)] = None
    return tuple(examples)
