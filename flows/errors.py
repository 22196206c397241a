"""Exit codes, and every error as one message that says what happened and what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpurank.operations.watch_record import WatchRecord
    from tasks.ingest.round import IngestResult


class Exit(IntEnum):
    """What a command's exit code means."""

    OK = 0
    SOME_ROUNDS_FAILED = 1
    USAGE = 2
    SOURCE = 3
    VALIDATION = 4
    LOCKED = 5
    NO_DATA = 6
    STORAGE = 7
    NOT_COMPARABLE = 8
    INTERNAL = 70
    INTERRUPTED = 130


class RoundsFailed(RuntimeError):
    """Some rounds failed; the others are complete."""

    def __init__(self, outcomes: Sequence[IngestResult]) -> None:
        self.outcomes = tuple(outcomes)
        failed = [item for item in outcomes if item.state == "failed"]
        self.is_total = len(failed) == len(self.outcomes)
        self.exit_code = failed[0].exit_code if self.is_total else int(Exit.SOME_ROUNDS_FAILED)
        lines = "\n".join(f"  {item.round_id}: {item.message}" for item in failed)
        rest = "nothing was changed" if self.is_total else "the others are complete"
        super().__init__(
            f"{len(failed)} of {len(self.outcomes)} rounds failed; {rest}\n{lines}"
            if len(self.outcomes) > 1
            else f"{failed[0].message}"
        )


class WatchIncomplete(RuntimeError):
    """Some questions of a watch were not answered; what was answered is up to date."""

    def __init__(self, record: WatchRecord) -> None:
        silent = [item for item in record.findings if item.state == "unanswered"]
        is_total = len(silent) == len(record.findings)
        self.exit_code = int(Exit.SOURCE if is_total else Exit.SOME_ROUNDS_FAILED)
        lines = "\n".join(f"  {item.round_id}: {item.message}" for item in silent)
        super().__init__(
            f"{len(silent)} of {len(record.findings)} questions were not answered; nothing was "
            f"withdrawn for it, run again later\n{lines}"
        )


# By name, so that telling an error imports nothing: the answer to a typo must not take seconds.
_CODES = {
    "gpurank.declared.rounds.UnknownRound": Exit.USAGE,
    "gpurank.settings.SettingsError": Exit.USAGE,
    "gpurank.method.settings.MethodError": Exit.USAGE,
    "gpurank.method.choice.ChoiceError": Exit.USAGE,
    "gpurank.answers.own_runs.OwnRunsError": Exit.USAGE,
    "gpurank.method.prices.PriceError": Exit.USAGE,
    "tasks.sources.base.SourceError": Exit.SOURCE,
    "gpurank.logs.round_tables.ReconciliationError": Exit.VALIDATION,
    "gpurank.declared.validation.ValidationFailed": Exit.VALIDATION,
    "gpurank.declared.models.ModelError": Exit.VALIDATION,
    "tasks.outputs.report.ReportError": Exit.VALIDATION,
    "tasks.outputs.export.ExportError": Exit.STORAGE,
    "tasks.build.load.LoadError": Exit.VALIDATION,
    "tasks.build.models.ModelRunError": Exit.VALIDATION,
    "gpurank.store.run_lock.LockHeld": Exit.LOCKED,
    "gpurank.answers.warehouse.NoData": Exit.NO_DATA,
    "gpurank.answers.comparison.NotComparable": Exit.NOT_COMPARABLE,
    "flows.prefect_runtime.server.ServerFailed": Exit.INTERNAL,
    "gpurank.store.versions.StoreError": Exit.STORAGE,
    "tasks.pool.WorkerDied": Exit.STORAGE,
    "gpurank.answers.warehouse.QueryError": Exit.USAGE,
    # What a person asks in SQL is a QueryError; here our own question found an older warehouse.
    "duckdb.BinderException": Exit.NO_DATA,
    "duckdb.CatalogException": Exit.NO_DATA,
    "duckdb.IOException": Exit.STORAGE,
    "duckdb.OutOfMemoryException": Exit.STORAGE,
}


def explain(error: BaseException) -> tuple[int, str]:
    """The exit code and message of an error."""
    if isinstance(error, RoundsFailed | WatchIncomplete):
        return error.exit_code, str(error)
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED, "interrupted; the last good data are untouched"
    if isinstance(error, MemoryError):
        return Exit.STORAGE, "out of memory; free some, or lower --workers"
    if os.strerror(errno.ENOSPC) in str(error):
        # The database tells it as a failed transaction, of no error class of its own.
        return Exit.STORAGE, _storage(OSError(errno.ENOSPC, ""))
    for kind in type(error).__mro__:
        code = _CODES.get(f"{kind.__module__.lstrip('_')}.{kind.__name__}")
        if code is not None:
            return code, _text(error) + _hint(error)
    if isinstance(error, OSError):
        return Exit.STORAGE, _storage(error)
    return Exit.INTERNAL, (
        f"{type(error).__name__}: {error}; this is a fault of gpurank: "
        "run again with --debug and report what it prints. The last good data are untouched"
    )


def _text(error: BaseException) -> str:
    text = str(error).strip()
    if type(error).__name__ not in ("BinderException", "CatalogException"):
        return text
    return (
        f"the warehouse was built by another version of gpurank ({text.splitlines()[0]}); "
        "`gpurank analyze` builds it anew"
    )


def _hint(error: BaseException) -> str:
    """What a person can do where the message alone does not say it."""
    failures = getattr(getattr(error, "report", None), "critical_failures", ())
    if any(failure.check == "shrink" for failure in failures):
        return "\nif rows were withdrawn on purpose, run again with --accept-shrink"
    return ""


def _storage(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    advice = {
        errno.ENOSPC: "the disk is full; free some space and run again",
        errno.EDQUOT: "the disk quota is used up; free some space and run again",
        errno.EACCES: "no permission; give GPURANK_HOME a folder that you may write to",
        errno.EPERM: "no permission; give GPURANK_HOME a folder that you may write to",
        errno.EROFS: "the folder is read-only; give GPURANK_HOME one that you may write to",
        errno.ENOLCK: "the file system knows no locks; put GPURANK_HOME on a local disk",
        errno.EMFILE: "too many open files; raise the limit (ulimit -n) or lower --workers",
    }.get(error.errno or 0, error.strerror or type(error).__name__)
    return f"{advice}{where}. The last good data are untouched"
