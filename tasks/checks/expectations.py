"""Great Expectations: the only module that meets it, inside functions, since it loads for seconds.

It judges counts of offending rows, all as one column, and the rows of tables with ``expect:``
checks.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from gpurank.declared.contracts import Check, Contract
from gpurank.declared.validation import CheckResult
from tasks.checks.counts import EXAMPLES, Fact, first_line, rows_text, short

if TYPE_CHECKING:
    import pyarrow as pa

# Its context is a singleton of the process; rounds may be validated from several threads.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Results of every check, and numbers of expectations: given, and evaluated."""

    results: tuple[CheckResult, ...]
    declared_count: int
    loaded_count: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one expectation; ``error`` where it was not loaded or raised."""

    is_passed: bool
    values: Mapping[str, Any]
    error: str | None = None


def begin(
    facts: Sequence[Fact], tables: Sequence[tuple[Contract, pa.Table]]
) -> Callable[[], Verdict]:
    """Returns a function that judges facts (each count must be 0) and the tables' rows."""
    return lambda: _judged(facts, tables)


def _judged(facts: Sequence[Fact], tables: Sequence[tuple[Contract, pa.Table]]) -> Verdict:
    with _ONE_AT_A_TIME:
        library = _library()
        outcomes = _facts(library, facts)
        results = [_fact_result(fact, one) for fact, one in zip(facts, outcomes, strict=True)]
        loaded = sum(one.error is None for one in outcomes)
        for contract, table in tables:
            frame = _frame(table)
            checks = [check for check in contract.checks if check.expect is not None]
            wanted = [(f"expect_{check.expect}", dict(check.arguments)) for check in checks]
            outcomes = library.outcomes(frame, wanted)
            loaded += sum(one.error is None for one in outcomes)
            results += [
                _frame_result(contract, check, one, frame)
                for check, one in zip(checks, outcomes, strict=True)
            ]
        if tables:
            _give_back()
    return Verdict(tuple(results), len(results), loaded)


def _give_back() -> None:
    """Arrow keeps what its tables took, ten times as much as the largest."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _frame(table: pa.Table) -> Any:
    import pandas as pd

    # Plain pandas would turn integers with nulls into floats.
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _facts(library: _Library, facts: Sequence[Fact]) -> list[_Outcome]:
    """One outcome a fact: all counts are one column, of which each value is judged."""
    if not facts:
        return []
    import pandas as pd

    numbers = range(len(facts))
    frame = pd.DataFrame({"fact": numbers, "offending": [fact.count for fact in facts]})
    bounds = {"column": "offending", "min_value": 0, "max_value": 0}
    (found,) = library.outcomes(frame, [("expect_column_values_to_be_between", bounds)], "fact")
    if found.error:
        return [found] * len(facts)
    failed = {row["fact"] for row in found.values.get("unexpected_index_list") or ()}
    evaluated = found.values["element_count"] - found.values["missing_count"]
    if evaluated != len(facts) or found.is_passed is bool(failed):
        return [_Outcome(False, {}, f"{evaluated} of {len(facts)} counts were judged")] * len(facts)
    return [_Outcome(number not in failed, {}) for number in numbers]


class _Library:
    """The package, quiet and ephemeral."""

    def __init__(self) -> None:
        # Read when the package is imported: no telemetry.
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        import great_expectations as gx

        # It logs a traceback for each expectation it drops; the counts report those.
        logging.getLogger("great_expectations").setLevel(logging.CRITICAL)
        self._gx = gx
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
        asset = context.data_sources.add_pandas("tables").add_dataframe_asset("table")
        self._whole = asset.add_batch_definition_whole_dataframe("whole")

    def outcomes(
        self, frame: Any, wanted: Sequence[tuple[str, dict[str, Any]]], named_by: str | None = None
    ) -> list[_Outcome]:
        """One outcome each, in order; an error where it was not loaded or raised.

        ``named_by`` is a column whose values tell all offending rows of an outcome.
        """
        unknown = _Outcome(False, {}, "great_expectations knows no such expectation")
        outcomes = [unknown] * len(wanted)
        loaded = []
        for number, (name, arguments) in enumerate(wanted):
            config = {"type": name, "kwargs": arguments, "meta": {"number": number}}
            try:
                # A suite drops what it does not know without a word, hence the counting.
                loaded += self._gx.ExpectationSuite(name="one", expectations=[config]).expectations
            except Exception as error:  # whatever it raises, the check did not run
                outcomes[number] = _Outcome(False, {}, " ".join(str(error).split()))
        if not loaded:
            return outcomes
        suite = self._gx.ExpectationSuite(name="all", expectations=loaded)
        batch = self._whole.get_batch({"dataframe": frame})
        options: dict[str, Any] = {
            "result_format": "BASIC", "partial_unexpected_count": EXAMPLES
        }  # fmt: skip
        if named_by is not None:
            options |= {"result_format": "COMPLETE", "unexpected_index_column_names": [named_by]}
        for result in batch.validate(suite, result_format=options).results:
            number = result.expectation_config.meta["number"]  # type: ignore[union-attr]
            message = _raised(result.exception_info)
            outcomes[number] = _Outcome(bool(result.success), dict(result.result or {}), message)
        return outcomes


@cache
def _library() -> _Library:
    return _Library()


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
