"""Every error ends the command line with its documented exit code and one message."""

from __future__ import annotations

import ast
import builtins
import errno
import importlib
import os
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from flows.errors import RoundsFailed, WatchIncomplete
from gpurank.declared.validation import CheckResult, ValidationFailed, ValidationReport
from gpurank.errors import Exit, GpurankError, explain

ROOT = Path(__file__).resolve().parents[3]

# docs/operations.md: 2 usage, 3 source, 4 validation, 5 lock, 6 no data, 7 storage,
# 8 not comparable, 70 internal.
EXIT_CODES = {
    "UnknownRound": 2,
    "SettingsError": 2,
    "MethodError": 2,
    "ChoiceError": 2,
    "OwnRunsError": 2,
    "PriceError": 2,
    "QueryError": 2,
    "SourceError": 3,
    "SourceMissing": 3,
    "SourceRefused": 3,
    "SourceUnavailable": 3,
    "GitFailed": 3,
    "ReconciliationError": 4,
    "ValidationFailed": 4,
    "ModelError": 4,
    "ModelRunError": 4,
    "ReportError": 4,
    "LoadError": 4,
    "StaleCorrection": 4,
    "LockHeld": 5,
    "NoData": 6,
    "StoreError": 7,
    "ExportError": 7,
    "WorkerDied": 7,
    "NotComparable": 8,
    "ServerFailed": 70,
}


def error_classes() -> dict[str, tuple[str, list[str]]]:
    """Module and base classes of every error class in the product, by name, from its source."""
    classes: dict[str, tuple[str, list[str]]] = {}
    for package in ("gpurank", "tasks", "flows"):
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    bases = [ast.unparse(base) for base in node.bases]
                    classes[node.name] = (module, bases)
    errors = {"GpurankError"}
    while more := {
        name
        for name, (_, bases) in classes.items()
        if name not in errors and any(base in errors or is_exception(base) for base in bases)
    }:
        errors |= more
    return {name: classes[name] for name in errors - {"GpurankError"}}


def is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def test_every_error_class_derives_from_the_one_base() -> None:
    stray = [
        name
        for name, (_, bases) in error_classes().items()
        if all(is_exception(base) for base in bases)
    ]
    assert not stray


@pytest.mark.parametrize(("name", "code"), EXIT_CODES.items())
def test_each_error_has_its_exit_code(name: str, code: int) -> None:
    module, _ = error_classes()[name]
    error = getattr(importlib.import_module(module), name)
    assert issubclass(error, GpurankError)
    assert error.exit_code == code


def test_a_deliberate_error_is_its_own_message() -> None:
    class Refusal(GpurankError, ValueError):
        exit_code = Exit.USAGE

    assert explain(Refusal(" choose something else\n")) == (2, "choose something else")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 7, "out of memory"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "file"), 7, "the disk is full"),
        (RuntimeError("TransactionContext: No space left on device"), 7, "the disk is full"),
        (PermissionError(errno.EACCES, "denied", "folder/x"), 7, "no permission"),
        (OSError(errno.EROFS, "read-only"), 7, "the folder is read-only"),
        (OSError(errno.ENOLCK, "no locks"), 7, "does not support locks"),
        (OSError(errno.EMFILE, "too many"), 7, "too many open files"),
        (OSError(errno.EIO, "input/output error"), 7, "input/output error"),
        (duckdb.BinderException("no column x"), 6, "gpurank analyze"),
        (duckdb.CatalogException("no table x"), 6, "gpurank analyze"),
        (duckdb.IOException("cannot open file"), 7, "cannot open file"),
        (duckdb.OutOfMemoryException("out of memory"), 7, "out of memory"),
        (duckdb.ConversionException("not a number"), 70, "internal error"),
        (ZeroDivisionError("division by zero"), 70, "ZeroDivisionError: division by zero"),
    ],
)
def test_errors_of_libraries_and_the_system_are_explained(
    error: BaseException, code: int, words: str
) -> None:
    found, message = explain(error)
    assert found == code
    assert words in message


def outcome(state: str, exit_code: int = 0) -> SimpleNamespace:
    return SimpleNamespace(round_id="v9.0", state=state, message="why", exit_code=exit_code)


@pytest.mark.parametrize(
    ("outcomes", "code", "words"),
    [
        ([outcome("failed", 3)], 3, "why"),
        ([outcome("failed", 4), outcome("failed", 3)], 4, "2 of 2 rounds failed; nothing was"),
        ([outcome("new"), outcome("failed", 3)], 1, "1 of 2 rounds failed; the others are"),
    ],
)
def test_rounds_that_fail(outcomes: list[SimpleNamespace], code: int, words: str) -> None:
    found, message = explain(RoundsFailed(outcomes))  # type: ignore[arg-type]
    assert found == code
    assert words in message


@pytest.mark.parametrize(
    ("states", "code"), [(["unanswered"], 3), (["unanswered", "unchanged"], 1)]
)
def test_an_incomplete_watch(states: list[str], code: int) -> None:
    record = SimpleNamespace(findings=[outcome(state) for state in states])
    found, message = explain(WatchIncomplete(record))  # type: ignore[arg-type]
    assert found == code
    assert message.startswith(f"1 of {len(states)} ") and "run again later" in message


@pytest.mark.parametrize(("check", "is_hinted"), [("shrink", True), ("unique", False)])
def test_a_validation_that_failed_on_lost_rows_names_the_option(
    check: str, is_hinted: bool
) -> None:
    result = CheckResult("t", check, "critical", False, "", "", "", 1, ())
    code, message = explain(ValidationFailed(ValidationReport("v9.0", (result,), 1, 1, {})))
    assert code == 4
    assert ("--accept-shrink" in message) is is_hinted
