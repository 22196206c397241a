"""Results of a validation as frozen values, and the checks that every contract implies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpurank.declared.contracts import Check, Contract, Severity
from gpurank.errors import Exit, GpurankError

IMPLIED_WHY: Mapping[str, str] = {
    "readable": "a table that is absent or unreadable cannot be checked at all",
    "columns": "a missing, extra or moved column means the writer and the contract disagree",
    "types": "a wrong type changes comparisons and sums without an error",
    "not_empty": "an empty table passes every other check",
    "key_unique": "a repeated key counts the same thing twice in every join",
    "not_null": "readers rely on the column being filled",
    "shrink": "a table that shrinks by much usually means that rows were lost, not withdrawn",
    "no_email": "addresses of contact persons must never be stored",
    "contract": "a table without a contract would be published unchecked and undocumented",
}

_SEARCHED_LAYERS = ("raw", "marts")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        observed: what was seen, as text: ``2 of 1,234 rows``.
        column: the column in which rows fail, if it is one.
        failing_count: rows that fail (columns, for the checks ``columns`` and ``types``).
        examples: up to three failing rows as text, e-mail addresses masked.
        is_evaluated: whether the check could be run; one that could not has failed, and is
            critical whatever its severity.
    """

    table: str
    check: str
    severity: Severity
    is_passed: bool
    observed: str
    why: str
    column: str | None = None
    failing_count: int = 0
    examples: tuple[str, ...] = ()
    is_evaluated: bool = True

    def sentence(self) -> str:
        """Returns the failure in one sentence: table, check, what was seen, an example."""
        example = f", e.g. {self.examples[0]}" if self.examples else ""
        return f"{self.table}: check {self.check} failed ({self.observed}{example}): {self.why}"


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The results of every check of one validation.

    Attributes:
        subject: what was validated (``raw v4.0``, ``metrics``).
        declared_count: checks that the contracts declare or imply.
        evaluated_count: checks of these that were run; fewer than declared is a failure.
        row_counts: rows per table, which the next validation compares with.
    """

    subject: str
    results: tuple[CheckResult, ...]
    declared_count: int
    evaluated_count: int
    row_counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def critical_failures(self) -> tuple[CheckResult, ...]:
        """Failed checks that prevent publication."""
        return tuple(r for r in self.results if not r.is_passed and r.severity == "critical")

    @property
    def warnings(self) -> tuple[CheckResult, ...]:
        """Failed checks that become issue rows and let the data be published."""
        return tuple(r for r in self.results if not r.is_passed and r.severity == "warning")

    @property
    def is_passed(self) -> bool:
        """Whether no critical check failed and every declared check was run."""
        return not self.critical_failures and self.declared_count == self.evaluated_count


class ValidationFailed(GpurankError):
    """A critical check failed. ``report`` holds the results of all checks."""

    exit_code = Exit.VALIDATION

    def __init__(self, report: ValidationReport) -> None:
        failures = report.critical_failures
        lines = [f"  {failure.sentence()}" for failure in failures[:5]]
        if len(failures) > 5:
            lines.append(f"  and {len(failures) - 5} more; the validation page lists them all")
        if report.declared_count != report.evaluated_count:
            lines.append(
                f"  {report.declared_count} checks declared, {report.evaluated_count} evaluated"
            )
        noun = "check" if len(failures) == 1 else "checks"
        super().__init__(
            f"validation of {report.subject} failed ({len(failures)} critical {noun}); "
            "nothing was published, the last good data stay in use\n" + "\n".join(lines)
        )
        self.report = report

    @property
    def hint(self) -> str:
        """How to publish although rows are missing, where that is what failed."""
        if any(failure.check == "shrink" for failure in self.report.critical_failures):
            return "if rows were withdrawn on purpose, run again with --accept-shrink"
        return ""


def issue_rows(report: ValidationReport) -> list[dict[str, Any]]:
    """Returns failed checks as rows of raw.issue: level ``warning``, or ``error`` if critical.

    The keys are level, kind, message, source_file, line_number and folder_id. The last three are
    null, because a check concerns a table and not one file.
    """
    return [
        {
            "level": "error" if result.severity == "critical" else "warning",
            "kind": f"validation_{result.check}",
            "message": result.sentence(),
            "source_file": None,
            "line_number": None,
            "folder_id": None,
        }
        for result in report.results
        if not result.is_passed
    ]


def implied_checks(contract: Contract) -> tuple[Check, ...]:
    """Returns the checks that a contract's columns and options imply; all are critical."""
    names = ["columns", "types"]
    if not contract.may_be_empty:
        names.append("not_empty")
    if contract.key:
        names.append("key_unique")
    if filled_columns(contract):
        names.append("not_null")
    if contract.min_share_of_previous > 0:
        names.append("shrink")
    if searched_columns(contract):
        names.append("no_email")
    return tuple(Check(name, "critical", IMPLIED_WHY[name]) for name in names)


def filled_columns(contract: Contract) -> tuple[str, ...]:
    """Returns the columns that must hold a value in every row."""
    return tuple(column.name for column in contract.columns if not column.nullable)


def searched_columns(contract: Contract) -> tuple[str, ...]:
    """Returns the columns searched for e-mail addresses: all text that is stored or published."""
    if contract.layer not in _SEARCHED_LAYERS:
        return ()
    return tuple(column.name for column in contract.columns if column.is_text)


def merge_reports(subject: str, reports: Iterable[ValidationReport]) -> ValidationReport:
    """Returns several reports as one, with their results in order."""
    parts = tuple(reports)
    counts = {table: count for part in parts for table, count in part.row_counts.items()}
    return ValidationReport(
        subject=subject,
        results=tuple(result for part in parts for result in part.results),
        declared_count=sum(part.declared_count for part in parts),
        evaluated_count=sum(part.evaluated_count for part in parts),
        row_counts=counts,
    )
