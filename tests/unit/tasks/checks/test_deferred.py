"""Checks that are judged while later steps run come before anything that rests on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpurank.declared.validation import CheckResult, ValidationFailed, ValidationReport
from gpurank.settings import load
from tasks.build.assemble import reports_of
from tasks.checks.deferred import Checks

CON: Any = None
SETTINGS = load(environ={})
FINE = ValidationReport("staging", (), 0, 0)
BROKEN = replace(
    FINE, results=(CheckResult("staging.run", "key_unique", "critical", False, "2 of 3", "why"),)
)


def fails() -> ValidationReport:
    raise ValidationFailed(BROKEN)


def begun(*finishers: Any) -> Checks:
    checks = Checks()
    checks._open.extend(finishers)
    return checks


def broken_step(*_: Any) -> None:
    raise RuntimeError("a model met rows that no check let through")


def test_reports_are_given_once() -> None:
    checks = begun(lambda: FINE)
    assert checks.settle() == [FINE]
    assert checks.settle() == []
    assert reports_of([FINE, FINE]) == [FINE, FINE] and reports_of(3) == []


def test_a_failed_check_is_told_instead_of_what_it_led_to() -> None:
    checks = begun(lambda: FINE, fails)
    with pytest.raises(ValidationFailed, match="key_unique"):
        checks.before_any_error(broken_step)(CON, SETTINGS)


def test_an_error_of_its_own_stays() -> None:
    checks = begun(lambda: FINE)
    with pytest.raises(RuntimeError, match="a model met"):
        checks.before_any_error(broken_step)(CON, SETTINGS)


def test_what_an_earlier_analysis_left_is_forgotten() -> None:
    checks = begun(fails)
    checks.forget()
    assert checks.settle() == []
