"""Reports, failures, issue rows, implied checks and their SQL."""

from __future__ import annotations

import re

import duckdb
import pytest

from gpurank.declared import check_sql
from gpurank.declared.contracts import parse_contract
from gpurank.declared.validation import (
    CheckResult,
    ValidationFailed,
    ValidationReport,
    implied_checks,
    issue_rows,
    merge_reports,
)

PASSED = CheckResult("raw.run", "not_empty", "critical", True, "5 rows", "w")
WARNED = CheckResult("raw.run", "slow", "warning", False, "1 of 5 rows", "rather a wrong clock")
FAILED = CheckResult(
    "raw.run", "key_unique", "critical", False, "2 of 5 rows", "counted twice",
    failing_count=2, examples=("path = a/b.txt",),
)  # fmt: skip


def report(*results: CheckResult, evaluated: int | None = None) -> ValidationReport:
    count = len(results)
    evaluated = count if evaluated is None else evaluated
    return ValidationReport("raw v9.9", results, count, evaluated, {"raw.run": 5})


def test_a_critical_failure_or_a_check_that_did_not_run_fails_the_report() -> None:
    assert report(PASSED, WARNED).is_passed
    assert not report(PASSED, FAILED).is_passed
    unevaluated = report(PASSED, PASSED, evaluated=1)
    assert not unevaluated.is_passed
    assert "2 checks declared, 1 evaluated" in str(ValidationFailed(unevaluated))


def test_the_error_names_table_check_and_example_and_stays_short() -> None:
    text = str(ValidationFailed(report(FAILED, WARNED)))
    for part in ("raw v9.9", "raw.run", "key_unique", "path = a/b.txt", "counted twice"):
        assert part in text
    assert "slow" not in text
    text = str(ValidationFailed(report(*[FAILED] * 40)))
    assert len(text.splitlines()) == 7 and "and 35 more" in text


def test_issue_rows_hold_failed_checks_only() -> None:
    rows = issue_rows(report(PASSED, WARNED, FAILED))
    assert [(row["level"], row["kind"]) for row in rows] == [
        ("warning", "validation_slow"),
        ("error", "validation_key_unique"),
    ]
    assert rows[0]["message"] == ("raw.run: check slow failed (1 of 5 rows): rather a wrong clock")
    assert set(rows[0]) == {
        "level", "kind", "message", "source_file", "line_number", "folder_id",
    }  # fmt: skip


def test_merged_reports_add_up() -> None:
    both = merge_reports("all", [report(PASSED), report(FAILED, WARNED, evaluated=1)])
    assert (both.declared_count, both.evaluated_count, len(both.results)) == (3, 2, 3)
    assert not both.is_passed


def thing(options: str = "", layer: str = "raw") -> str:
    return f"""
table: {layer}.thing
grain: one thing
key: [thing_id, part]
doc: Things.
{options}
columns:
  - {{name: thing_id, type: string, doc: d}}
  - {{name: part, type: int32, nullable: true, doc: d}}
  - {{name: note, type: string, nullable: true, doc: d}}
"""


@pytest.mark.parametrize(
    ("options", "layer", "names"),
    [
        ("", "raw", "columns types not_empty key_unique not_null shrink no_email"),
        ("may_be_empty: true", "raw", "columns types key_unique not_null shrink no_email"),
        ("min_share_of_previous: 0", "core", "columns types not_empty key_unique not_null"),
    ],
)
def test_implied_checks(options: str, layer: str, names: str) -> None:
    checks = implied_checks(parse_contract(thing(options, layer), "thing"))
    assert " ".join(check.name for check in checks) == names
    assert all(check.severity == "critical" and check.why for check in checks)


ADDRESSES = [
    "write to jane.doe@example.org.",
    "jane@mail.example.co",
    '{"poc": "jane\\u0040example.org"}',
    "<x_1+tag@a-b.example.com>",
]
NO_ADDRESSES = [
    "nvcr.io/nvidia/mxnet@sha256:0123abcd",
    "1 @ 2.5 GHz",
    "8x A100 @ 400W",
    "user@host",
    "@decorator.name",
    "Xeon(R) CPU @2.70GHz",
    "v1@2.0.1",
]  # fmt: skip


def test_email_pattern_in_duckdb() -> None:
    contract = parse_contract(thing(), "thing")
    condition = check_sql.failing_condition(contract, "no_email", "note")
    with duckdb.connect() as con:
        for text in [*ADDRESSES, *NO_ADDRESSES]:
            found = con.execute(f"select {condition} from (select ? as note)", [text]).fetchall()
            assert found == [(text in ADDRESSES,)], text


@pytest.mark.parametrize("text", ADDRESSES)
def test_examples_never_show_an_address(text: str) -> None:
    assert not re.search(r"jane|x_1|example", check_sql.mask_emails(text).replace("<e-mail>", ""))
