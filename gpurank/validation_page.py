"""The validation page: every check of a run on one self-contained HTML page.

Pure: reports in, text out. Nothing is loaded from a network; everything shown is escaped, since
examples quote what strangers filed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpurank.validation import CheckResult, ValidationReport

_STYLE = """
:root { color-scheme: light dark; --line: #c8ccd2; --bad: #b3261e; --warn: #8a5a00; --good: #1d6b34;
  --soft: #f3f4f6; }
@media (prefers-color-scheme: dark) { :root { --line: #454a52; --bad: #ff8a80; --warn: #f2bd5c;
  --good: #7bd694; --soft: #22252a; } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; margin: .75rem 0; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { background: var(--soft); } tbody th { font-weight: normal; }
.critical { color: var(--bad); font-weight: 600; }
.warning { color: var(--warn); font-weight: 600; }
.passed { color: var(--good); } .scroll { overflow-x: auto; }
summary { cursor: pointer; font-weight: 600; padding: .3rem 0; }
code { font-family: ui-monospace, monospace; }
""".strip()


def validation_page(
    reports: Sequence[ValidationReport], title: str = "Validation", note: str = ""
) -> str:
    """The page as HTML text, UTF-8.

    Args:
        reports: one a validation (a round's raw tables, a layer), in the order to be shown.
        title: the page's heading.
        note: a sentence below it: what run this was, from which sources.
    """
    body = [f"<h1>{escape(title)}</h1>"]
    if note:
        body.append(f"<p>{escape(note)}</p>")
    body.append(f"<p>{_verdict(reports)}</p>")
    body.append(_summary(reports))
    body.append(_failures(reports))
    body += [_report(number, report) for number, report in enumerate(reports, start=1)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


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
                report.loaded_count,
            ),
        ]
        for number, report in enumerate(reports, start=1)
    ]
    head = ["validated", "state", "passed", "warnings", "critical", "declared", "evaluated"]
    return _table("Summary", head, rows)


def _failures(reports: Sequence[ValidationReport]) -> str:
    found = [
        (report, result) for report in reports for result in report.results if not result.is_passed
    ]
    found.sort(key=lambda pair: pair[1].severity != "critical")
    if not found:
        return ""
    rows = [[escape(report.subject), *_result_cells(result)] for report, result in found]
    return _table("Failed checks", ["validated", *_RESULT_HEAD], rows)


def _report(number: int, report: ValidationReport) -> str:
    parts = [f'<h2 id="validation-{number}">{escape(report.subject)}</h2>']
    for table in dict.fromkeys(result.table for result in report.results):
        results = [result for result in report.results if result.table == table]
        failed = sum(not result.is_passed for result in results)
        rows_text = f", {report.row_counts[table]:,} rows" if table in report.row_counts else ""
        label = f"{table}: {len(results)} checks, {failed} failed{rows_text}"
        inner = _table(table, _RESULT_HEAD[1:], [_result_cells(result)[1:] for result in results])
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
    # Said in words, since colour alone tells nothing to many readers.
    return (
        '<span class="passed">passed</span>'
        if is_passed
        else (f'<span class="{severity}">{severity}</span>')
    )


def _numbers(*values: int) -> list[str]:
    return [f"{value:,}" for value in values]


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already; the first cell of a row is its heading."""
    heading = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = [
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    ]
    label = escape(caption)
    region = f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
    return (
        f"{region}<table>\n<caption>{label}</caption>\n"
        f"<thead><tr>{heading}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )
