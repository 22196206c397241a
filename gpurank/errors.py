"""Exit codes, the base class of gpurank's errors, and one message for any error.

Every error class of gpurank carries the exit code that the command line ends with.
"""

from __future__ import annotations

import errno
import os
from enum import IntEnum


class Exit(IntEnum):
    """What the exit code of a command means."""

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


class GpurankError(Exception):
    """An error that gpurank raises on purpose: its message says what happened and what to do."""

    exit_code: Exit = Exit.INTERNAL

    @property
    def hint(self) -> str:
        """What to do next, where the message alone does not say it; usually empty."""
        return ""


class SeveralFailures(GpurankError):
    """Some or all parts of a run failed; the message lists each of them."""


def explain(error: BaseException) -> tuple[Exit, str]:
    """Returns the exit code of any error and a message for the person who ran the command."""
    if isinstance(error, SeveralFailures):
        return error.exit_code, str(error)
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED, "interrupted; the last good data are untouched"
    if isinstance(error, MemoryError):
        return Exit.STORAGE, "out of memory; free some, or lower --workers"
    if os.strerror(errno.ENOSPC) in str(error):
        # DuckDB reports a full disk as a failed transaction, without an error class of its own.
        return Exit.STORAGE, _explain_os_error(OSError(errno.ENOSPC, ""))
    if isinstance(error, GpurankError):
        message = str(error).strip()
        return error.exit_code, f"{message}\n{error.hint}" if error.hint else message
    # DuckDB is imported only if the error is one of its own: a typo is answered without it.
    if type(error).__module__.lstrip("_").partition(".")[0] == "duckdb":
        explained = _explain_duckdb_error(error)
        if explained is not None:
            return explained
    if isinstance(error, OSError):
        return Exit.STORAGE, _explain_os_error(error)
    return Exit.INTERNAL, (
        f"{type(error).__name__}: {error}; this is an internal error of gpurank: "
        "run again with --debug and report what it prints. The last good data are untouched"
    )


def _explain_duckdb_error(error: BaseException) -> tuple[Exit, str] | None:
    import duckdb

    message = str(error).strip()
    # SQL that a person wrote raises a QueryError. Here one of gpurank's own queries failed, so the
    # warehouse has other tables or columns than this version of gpurank expects.
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
        return Exit.NO_DATA, (
            f"the warehouse was built by another version of gpurank ({message.splitlines()[0]}); "
            "`gpurank analyze` rebuilds it"
        )
    if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException):
        return Exit.STORAGE, message
    return None


def _explain_os_error(error: OSError) -> str:
    path = f": {error.filename}" if error.filename else ""
    advice = {
        errno.ENOSPC: "the disk is full; free some space and run again",
        errno.EDQUOT: "the disk quota is used up; free some space and run again",
        errno.EACCES: "no permission; set GPURANK_HOME to a folder that you may write to",
        errno.EPERM: "no permission; set GPURANK_HOME to a folder that you may write to",
        errno.EROFS: "the folder is read-only; set GPURANK_HOME to one that you may write to",
        errno.ENOLCK: "the file system does not support locks; put GPURANK_HOME on a local disk",
        errno.EMFILE: "too many open files; raise the limit (ulimit -n) or lower --workers",
    }.get(error.errno or 0, error.strerror or type(error).__name__)
    return f"{advice}{path}. The last good data are untouched"
