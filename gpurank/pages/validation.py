"""The validation page: every check of a run on one self-contained HTML page.

Nothing is loaded from a network. Everything shown is escaped, because examples quote what
submitters filed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpurank.declared.validation import CheckResult, ValidationReport
from gpurank.pages.html import document, table


def validation_page(
    reports: Sequence[ValidationReport], title: str = "Validation", note: str = ""
) -> str:
    """Returns the page as HTML text.

    Args:
        reports: one per validation (a round's raw tables, a layer), in the order shown.
        title: the page's heading.
        note: a sentence below it, such as which run this was and from which sources.
    """
    body = [f"<h1>{escape(title)}</h1>"]
    if note:
        body.append(f"<p>{escape(note)}</p>")
    body.append(f"<p>{_verdict(reports)}</p>")
    body.append(_summary(reports))
    body.append(_failures(reports))
    body += [_report(number, report) for number, report in enumerate(reports, start=1)]
    return document(title, body)


def _verdict(reports: Sequence[ValidationReport]) -> str:
    critical = sum(len(report.critical_failures) for report in reports)
    warnings = sum(len(report.warnings) for report in reports)
    checks = sum(len(report.results) for report in reports)
    if not checks:
        return '<span class="critical">Nothing was checked.</span>'
    passed = f"{checks - critical - warnings:,} of {checks:,} checks passed"
    failed = f"warnings: {warnings:,}, critical failures: {critical:,}"
    if all(report.is_passed for report in reports):
        return f'<span class="passed">Passed.</span> {passed}; {failed}.'
    return f'<span class="critical">Failed; not published.</span> {passed}; {failed}.'


def _summary(reports: Sequence[ValidationReport]) -> str:
    rows = [
        [
            f'<a href="#validation-{number}">{escape(report.subject)}</a>',
            _state(report.is_passed, "critical"),
            *_numbers(
                sum(result.is_passed for result in report.results),
                len(report.warnings),
                len(report.critical_failures),
                report.declared_count,
                report.evaluated_count,
            ),
        ]
        for number, report in enumerate(reports, start=1)
    ]
    head = ["validated", "state", "passed", "warnings", "critical", "declared", "evaluated"]
    return table("Summary", head, rows)


def _failures(reports: Sequence[ValidationReport]) -> str:
    found = [
        (report, result) for report in reports for result in report.results if not result.is_passed
    ]
    found.sort(key=lambda pair: pair[1].severity != "critical")
    if not found:
        return ""
    rows = [[escape(report.subject), *_result_cells(result)] for report, result in found]
    return table("Failed checks", ["validated", *_RESULT_HEAD], rows)


def _report(number: int, report: ValidationReport) -> str:
    parts = [f'<h2 id="validation-{number}">{escape(report.subject)}</h2>']
    for name in dict.fromkeys(result.table for result in report.results):
        results = [result for result in report.results if result.table == name]
        failed = sum(not result.is_passed for result in results)
        rows_text = f", {report.row_counts[name]:,} rows" if name in report.row_counts else ""
        label = f"{name}: {len(results)} checks, {failed} failed{rows_text}"
        caption = f"{name}, {report.subject}"
        inner = table(caption, _RESULT_HEAD[1:], [_result_cells(result)[1:] for result in results])
        opened = " open" if failed else ""
        parts.append(f"<details{opened}>\n<summary>{escape(label)}</summary>\n{inner}\n</details>")
    return "\n".join(parts)


_RESULT_HEAD = ["table", "check", "column", "state", "observed", "examples", "why"]


def _result_cells(result: CheckResult) -> list[str]:
    return [
        f"<code>{escape(result.table)}</code>",
        f"<code>{escape(result.check)}</code>",
        f"<code>{escape(result.column)}</code>" if result.column else "",
        _state(result.is_passed, result.severity),
        escape(result.observed),
        "<br>".join(escape(example) for example in result.examples),
        escape(result.why),
    ]


def _state(is_passed: bool, severity: str) -> str:
    # In words, because many readers cannot see colours.
    return (
        '<span class="passed">passed</span>'
        if is_passed
        else (f'<span class="{severity}">{severity}</span>')
    )


def _numbers(*values: int) -> list[str]:
    return [f"{value:,}" for value in values]
