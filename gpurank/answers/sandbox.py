"""Limits around SQL that somebody else wrote: time, memory, spill.

The database's own memory limit does not count what one expression builds (``repeat('x', 4e9)``),
and its interrupt waits for the end of such an expression. So the process is limited beside it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: How every connection that only reads is opened.
CONFIG: dict[str, Any] = {
    "enable_external_access": "false",
    "lock_configuration": "true",
    "memory_limit": "2GB",
    "max_temp_directory_size": "4GB",
}
#: After this a statement is interrupted; after half as long again the process ends.
LIMIT_S = 60.0
LIMIT_VARIABLE = "GPURANK_QUERY_SECONDS"
#: What the process may take beyond what it holds when the statement starts, B.
MEMORY_B = 3 << 30
_EXIT_USAGE = 2


def limit_s() -> float:
    """Seconds that a statement may take: GPURANK_QUERY_SECONDS, or a minute."""
    try:
        asked = float(os.environ.get(LIMIT_VARIABLE, LIMIT_S))
    except ValueError:
        return LIMIT_S
    return asked if 0 < asked < threading.TIMEOUT_MAX else LIMIT_S


@contextmanager
def bounded(con: DuckDBPyConnection) -> Iterator[None]:
    """Run a block's statements within limits; for commands, whose process may end.

    Raises:
        TimeoutError: the time was up and the statement let itself be interrupted.
        duckdb.Error: other faults, the limit of memory among them.
        MemoryError: the rows do not fit the limit.
    """
    import duckdb

    seconds = limit_s()
    told = f"the statement took longer than {seconds:g} s ({LIMIT_VARIABLE} sets the limit)"
    timers = [
        threading.Timer(seconds, con.interrupt),
        threading.Timer(1.5 * seconds, _end, [told]),
    ]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        with _less_memory():
            yield
    except duckdb.InterruptException:
        raise TimeoutError(told) from None
    finally:
        for timer in timers:
            timer.cancel()


def _end(message: str) -> None:
    print(f"gpurank: {message}", file=sys.stderr, flush=True)
    os._exit(_EXIT_USAGE)


@contextmanager
def _less_memory() -> Iterator[None]:
    """A limit on the process's address space, where the system has one and tells its use."""
    before = None
    with suppress(ImportError, OSError, ValueError):
        import resource

        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = held + MEMORY_B
        if soft == resource.RLIM_INFINITY or soft > wanted:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
            before = soft, hard
    try:
        yield
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_AS, before)
