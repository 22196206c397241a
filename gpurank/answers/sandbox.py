"""Limits for a user's SQL: time, memory and temporary files.

DuckDB's memory limit does not count what one expression builds (``repeat('x', 4e9)``), and its
interrupt waits for the end of such an expression. Therefore the process has limits as well.
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

#: Options of every read-only connection.
CONFIG: dict[str, Any] = {
    "enable_external_access": "false",
    "lock_configuration": "true",
    "memory_limit": "2GB",
    "max_temp_directory_size": "4GB",
}
#: After this a statement is interrupted; after half as long again the process ends.
LIMIT_S = 60.0
LIMIT_VARIABLE = "GPURANK_QUERY_SECONDS"
#: Memory that the process may allocate while a statement runs, B.
MEMORY_B = 3 << 30
_EXIT_USAGE = 2


def limit_s() -> float:
    """Returns the seconds a statement may take: GPURANK_QUERY_SECONDS, or a minute."""
    try:
        seconds = float(os.environ.get(LIMIT_VARIABLE, LIMIT_S))
    except ValueError:
        return LIMIT_S
    return seconds if 0 < seconds < threading.TIMEOUT_MAX else LIMIT_S


@contextmanager
def bounded(con: DuckDBPyConnection) -> Iterator[None]:
    """Runs a block's statements within limits; for commands only, because it may end the process.

    Raises:
        TimeoutError: the statement was interrupted after its time limit.
        duckdb.Error: the statement failed, for example for lack of memory.
        MemoryError: the rows do not fit into the limit.
    """
    import duckdb

    seconds = limit_s()
    message = f"the statement took longer than {seconds:g} s ({LIMIT_VARIABLE} sets the limit)"
    timers = [
        threading.Timer(seconds, con.interrupt),
        threading.Timer(1.5 * seconds, _end, [message]),
    ]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        with _limited_memory():
            yield
    except duckdb.InterruptException:
        raise TimeoutError(message) from None
    finally:
        for timer in timers:
            timer.cancel()


def _end(message: str) -> None:
    """Ends the process when a statement did not react to the interrupt."""
    print(f"gpurank: {message}", file=sys.stderr, flush=True)
    os._exit(_EXIT_USAGE)


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Limits the process's address space in the block, on systems that support it."""
    before = None
    with suppress(ImportError, OSError, ValueError):
        import resource

        used_b = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit_b = used_b + MEMORY_B
        if soft == resource.RLIM_INFINITY or soft > limit_b:
            resource.setrlimit(resource.RLIMIT_AS, (limit_b, hard))
            before = soft, hard
    try:
        yield
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_AS, before)
