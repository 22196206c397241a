"""Run one function in a fresh process of its own, and follow how far it is.

Reading logs is bound by the processor, so rounds are read in processes beside each other. A
process a round keeps the memory of one round from the next, and a reader that is killed for
its memory takes no other round with it. The child imports no orchestrator.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.sharedctypes import RawArray
from typing import Any, Protocol, TypeVar

from gpurank.errors import Exit, GpurankError
from tasks.process import partners
from tasks.process.partners import Lane

T = TypeVar("T")
_BYTES, _FILES = range(2)
_POLL_S = 0.3
_FAREWELL_S = 5.0
_SWITCH_S = 0.0002
# Shared with the parent: bytes and files read so far. No lock: it has one writer.
_gauge: Any = None


class WorkerDied(GpurankError, RuntimeError):
    """A reading process ended without an answer: out of memory, or killed."""

    exit_code = Exit.STORAGE


class _Sized(Protocol):
    @property
    def data(self) -> bytes: ...


S = TypeVar("S", bound=_Sized)


def run_alone(
    function: Callable[..., T],
    *args: Any,
    follow: Callable[[int, int], None] | None = None,
    partner_count: int = 0,
) -> T:
    """The function's value, computed in a process of its own.

    ``follow`` is called about three times a second with (bytes, files) that ``counted`` saw.
    ``partner_count`` processes stand beside it that it may ask to read for it (partners.py);
    a worker of a cluster, which may have no children, has none.

    Raises:
        WorkerDied: the process ended without an answer.
        Exception: whatever the function raised.
    """
    if multiprocessing.current_process().daemon:
        # A cluster's worker: a process of its own already, and it may have no children.
        return function(*args)
    context = _context()
    gauge = RawArray("q", 2)
    with (
        _partners(context, partner_count) as lanes,
        ProcessPoolExecutor(1, context, initializer=_start, initargs=(gauge, lanes)) as pool,
    ):
        future: Future[T] = pool.submit(function, *args)
        _close(lanes)
        while not wait([future], timeout=_POLL_S).done:
            if follow:
                follow(gauge[_BYTES], gauge[_FILES])
        if follow:
            follow(gauge[_BYTES], gauge[_FILES])
        try:
            return future.result()
        except (BrokenProcessPool, partners.PartnerDied):
            raise WorkerDied(
                "a reading process was ended from outside, most likely for lack of memory; "
                "free some, or read with fewer processes (--workers 1)"
            ) from None


@contextmanager
def _partners(context: BaseContext, count: int) -> Iterator[list[Lane]]:
    """The ways to some processes that read what is asked for, until nobody holds the ways."""
    ours: list[Lane] = []
    processes = []
    for _ in range(count):
        here, there = partners.lane(context)
        process = context.Process(target=_assist, args=(there,), daemon=True)  # type: ignore[attr-defined]
        process.start()
        there.link.close()
        ours.append(here)
        processes.append(process)
    try:
        yield ours
    finally:
        _close(ours)
        for process in processes:
            process.join(_FAREWELL_S)
            process.kill()


def _close(lanes: Iterable[Lane]) -> None:
    for lane in lanes:
        lane.link.close()


def _assist(lane: Lane) -> None:
    _start(None, [])
    partners.assist(lane)


def _context() -> BaseContext:
    """Children forked from a process that has imported the reader once, where the system can.

    Never from this one: it has threads, and what a fork does to their locks nobody knows.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tasks.process.preloaded_reader"])
    return context


def counted(files: Iterable[S]) -> Iterator[S]:
    """The same files; counts them for the parent."""
    for file in files:
        if _gauge is not None:
            _gauge[_BYTES] += len(file.data)
            _gauge[_FILES] += 1
        yield file


class WithoutPandas(MetaPathFinder):
    """Arrow looks for pandas at its first list and would import it, 0.3 s and 60 MB."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Refuse pandas, leave all else to others."""
        if name == "pandas":
            raise ModuleNotFoundError("this process does without pandas", name=name)


def _start(gauge: Any, lanes: list[Lane]) -> None:
    global _gauge
    _gauge = gauge
    partners.join(lanes)
    # Threads that unpack, write and ask hold the interpreter for moments only; they must not wait
    # 5 ms each time.
    sys.setswitchinterval(_SWITCH_S)
    # Records are millions of small objects without cycles: looking for some costs an eighth.
    gc.set_threshold(200_000, 20, 20)
    sys.meta_path.insert(0, WithoutPandas())
    # An interrupt from the keyboard ends the child at once and without a word.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """A killed parent cannot stop its child; the child watches it instead."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
