"""The validation page: every check of a run.

Examples quote filed text, so everything shown is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from gpurank.declared.validation import CheckResult, ValidationReport
from gpurank.pages.html import Column, NavigationLink, Table, element, link, render_page
from gpurank.pages.numbers import count, plural

_SUMMARY_COLUMNS = (
    Column("Validated"),
    Column("State"),
    Column("Passed", True),
    Column("Warnings", True),
    Column("Critical", True),
    Column("Declared", True),
    Column("Evaluated", True),
)
_RESULT_COLUMNS = tuple(
    map(Column, ("Check", "Column", "State", "Observed", "Examples", "Why it matters"))
)


def validation_page(
    reports: Sequence[ValidationReport], title: str = "Validation", note: str = ""
) -> str:
    """Returns the page as HTML text.

    Args:
        reports: one per validation (a round's raw tables, a layer), in the order to be shown.
        title: the page's heading.
        note: a sentence below it: which run this was, from which sources.
    """
    navigation = [NavigationLink("Summary", "#summary")]
    navigation += [
        NavigationLink(report.subject, f"#validation-{index}")
        for index, report in enumerate(reports, start=1)
    ]
    return render_page(
        "validation.html",
        title=title,
        about=f"{title}: every check, what it observed and why it matters.",
        styles=("checks.css",),
        navigation=navigation,
        note=note,
        is_checked=any(report.results for report in reports),
        is_passed=all(report.is_passed for report in reports),
        counts=_counts(reports),
        summary=_summary(reports),
        failures=_failures(reports),
        validations=[(report.subject, _tables(report)) for report in reports],
    )


def _counts(reports: Sequence[ValidationReport]) -> str:
    critical = sum(len(report.critical_failures) for report in reports)
    warnings = sum(len(report.warnings) for report in reports)
    total = sum(len(report.results) for report in reports)
    return (
        f"{count(total - critical - warnings)} of {plural(total, 'check')} passed; "
        f"warnings: {count(warnings)}, critical failures: {count(critical)}."
    )


def _summary(reports: Sequence[ValidationReport]) -> Table:
    rows = [
        (
            link(f"#validation-{index}", report.subject),
            _state(report.is_passed, "critical"),
            count(sum(result.is_passed for result in report.results)),
            count(len(report.warnings)),
            count(len(report.critical_failures)),
            count(report.declared_count),
            count(report.evaluated_count),
        )
        for index, report in enumerate(reports, start=1)
    ]
    return Table(_SUMMARY_COLUMNS, rows)


def _failures(reports: Sequence[ValidationReport]) -> Table | None:
    """Returns the failed checks of all validations, critical ones first."""
    failures = [
        (report, result) for report in reports for result in report.results if not result.is_passed
    ]
    failures.sort(key=lambda pair: pair[1].severity != "critical")
    rows = [
        (report.subject, element("code", result.table), *_result_cells(result))
        for report, result in failures
    ]
    columns = (Column("Validated"), Column("Table"), *_RESULT_COLUMNS)
    return Table(columns, rows) if rows else None


def _tables(report: ValidationReport) -> list[dict[str, Any]]:
    """Returns the checks of each table: a label, whether one failed, the shown table."""
    tables = []
    for name in dict.fromkeys(result.table for result in report.results):
        results = [result for result in report.results if result.table == name]
        failed = sum(not result.is_passed for result in results)
        rows = report.row_counts.get(name)
        label = f"{name}, {report.subject}: {plural(len(results), 'check')}, {count(failed)} failed"
        tables.append(
            {
                "label": label if rows is None else f"{label}, {plural(rows, 'row')}",
                "has_failed": failed > 0,
                "table": Table(_RESULT_COLUMNS, [_result_cells(result) for result in results]),
            }
        )
    return tables


def _result_cells(result: CheckResult) -> list[object]:
    return [
        element("code", result.check),
        element("code", result.column) if result.column else None,
        _state(result.is_passed, result.severity),
        result.observed,
        Markup("<br>").join(result.examples),
        result.why,
    ]


def _state(is_passed: bool, severity: str) -> Markup:
    # The state is a word, since many readers cannot tell the colours apart.
    state = "passed" if is_passed else severity
    return element("span", state, state)
