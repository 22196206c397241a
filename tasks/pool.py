"""Processes: one for a round that is read, and several for calls that run side by side.

They are forked from a server process (multiprocessing's "forkserver") that has imported the large
libraries once, and never from this process, whose threads may hold locks at that moment. Systems
without a fork server start every process afresh ("spawn").
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any, Protocol, TypeVar, cast

from gpurank.errors import Exit, GpurankError

S = TypeVar("S")
T = TypeVar("T")
Job = tuple[Any, ...]
#: Called with the bytes and the files read so far.
Progress = Callable[[int, int], None]

# What the fork server imports. pyarrow imports pandas, where it is installed, as soon as it
# converts a list. Polars is left out because importing it starts threads, which no fork copies.
_PRELOADED = ["numpy", "pandas", "tasks.ingest.raw_tables", "tasks.sources.snapshot"]
_THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


class WorkerDied(GpurankError, RuntimeError):
    """A process was ended from outside before it answered, most likely for lack of memory."""

    exit_code = Exit.STORAGE

    def __init__(self) -> None:
        super().__init__(
            "a worker process was ended from outside, most likely for lack of memory; "
            "free some, or use fewer processes (--workers 1)"
        )

    def __reduce__(self) -> tuple[type[WorkerDied], tuple[()]]:
        return WorkerDied, ()


class Each(Protocol):
    """Calls a module's function with the arguments of each job, wherever that may be."""

    def __call__(self, function: Callable[..., T], jobs: Sequence[Job]) -> list[T]:
        """Returns one result per job, in the order of the jobs; raises the first job's error."""


def here(function: Callable[..., T], jobs: Sequence[Job]) -> list[T]:
    """Runs the jobs one after the other in this process; an ``Each``."""
    return [function(*job) for job in jobs]


class OrderedMap(Protocol):
    """Calls a module's function with each item, wherever that may be; Python's ``map`` is one."""

    def __call__(self, function: Callable[[S], T], items: Iterable[S], /) -> Iterator[T]:
        """Yields one result per item, in the order of the items."""


@contextmanager
def side_by_side(workers: int) -> Iterator[Each]:
    """Yields an ``Each`` that runs jobs in that many processes; with one worker, in this one.

    Jobs and results travel as pickles. The calls of the ``Each`` raise WorkerDied where a process
    was ended from outside.
    """
    if workers < 2 or not _may_start_processes():
        yield here
        return

    def each(function: Callable[..., T], jobs: Sequence[Job]) -> list[T]:
        return list(_results(executor, function, jobs, ahead=len(jobs)))

    with _executor(workers) as executor:
        yield each


@contextmanager
def ordered_map(workers: int) -> Iterator[OrderedMap]:
    """Yields an ``OrderedMap`` in that many processes; with one worker, Python's own ``map``.

    Results come in the order of the items. Only a few items are taken ahead of the result that is
    yielded, so that memory does not grow with their number.
    """
    if workers < 2 or not _may_start_processes():
        yield map
        return

    def pool_map(function: Callable[[S], T], items: Iterable[S], /) -> Iterator[T]:
        return _results(executor, function, ((item,) for item in items), ahead=workers + 1)

    with _executor(workers) as executor, ThreadPoolExecutor(1) as starter:
        # The processes start while the caller prepares its first item.
        starter.submit(lambda: [executor.submit(int) for _ in range(workers)])
        yield pool_map


def run_in_subprocess(function: Callable[..., T], *args: Any, follow: Progress | None = None) -> T:
    """Returns the function's value, computed in a process of its own.

    The memory that it took is free again afterwards, and its death is an error here, no more. In
    a daemonic process (a Dask worker), which may have no children, the function runs in place.

    Args:
        function: a module's function; it may start processes itself.
        args: its arguments.
        follow: called in this process with whatever the function passes to ``progress``, a
            keyword argument that it is given only then.

    Raises:
        WorkerDied: the process ended without an answer.
        Exception: what the function raised, with the traceback of the process as a note.
    """
    if not _may_start_processes():
        return function(*args) if follow is None else function(*args, progress=follow)
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    target = partial(function, *args)
    process = context.Process(  # type: ignore[attr-defined]
        target=_answer, args=(sender, target, follow is not None)
    )
    process.start()
    sender.close()
    try:
        while True:
            try:
                kind, content = receiver.recv()
            except EOFError:
                raise WorkerDied from None
            if kind == "value":
                return cast(T, content)
            if kind == "error":
                raise content
            if follow is not None:
                follow(*content)
    finally:
        # After an answer nothing is left to do in it, and after an interrupt nobody waits for one.
        receiver.close()
        process.kill()
        process.join()


def _answer(sender: Connection, function: Callable[..., Any], has_progress: bool) -> None:
    """Runs in the process: sends ("progress", counts) messages, then ("value" or "error", it)."""
    _prepare_process()

    def progress(bytes_read: int, files_read: int) -> None:
        sender.send(("progress", (bytes_read, files_read)))

    try:
        answer = "value", function(progress=progress) if has_progress else function()
    except Exception as error:
        error.add_note(traceback.format_exc())
        answer = "error", error
    sender.send(answer)


def _results(
    executor: ProcessPoolExecutor, function: Callable[..., T], jobs: Iterable[Job], ahead: int
) -> Iterator[T]:
    """Yields the result of each job in order, with up to ``ahead`` more jobs submitted."""
    pending: deque[Future[T]] = deque()
    try:
        for job in jobs:
            pending.append(executor.submit(function, *job))
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool:
        raise WorkerDied from None
    finally:
        for future in pending:
            future.cancel()


@contextmanager
def _executor(workers: int) -> Iterator[ProcessPoolExecutor]:
    executor = ProcessPoolExecutor(workers, _context(), _prepare_process)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def _may_start_processes() -> bool:
    return not multiprocessing.current_process().daemon


def _context() -> BaseContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _prepare_process() -> None:
    """Readies a new process: one thread per library, silent when interrupted, never an orphan."""
    # What was imported before the fork stays in pages shared with the other processes: the garbage
    # collector, which would write to all of them, leaves frozen objects alone.
    gc.freeze()
    # The cores are shared out among processes already. Libraries read these when they are loaded.
    os.environ.update(dict.fromkeys(_THREAD_LIMITS, "1"))
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process with the one that started it, which cannot do so itself once killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
