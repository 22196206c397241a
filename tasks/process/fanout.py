"""Many calls of one function, side by side: here, or in processes of this machine.

Whatever maps calls this way (a task runner, a cluster) can take the place of ``here``: jobs are
independent, travel as pickles, and their results stand in the order of the jobs.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from typing import Any, Protocol, TypeVar

from tasks.process.worker import WithoutPandas, end_with_parent

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
# Two threads that start such a process would take each other's variables for the user's.
_STARTING = threading.Lock()
T = TypeVar("T")
Job = tuple[Any, ...]


class Each(Protocol):
    """Calls a module's function with the arguments of each job; results in the jobs' order."""

    def __call__(self, function: Callable[..., T], jobs: Sequence[Job]) -> list[T]:
        """One result a job; the first error among them is raised."""

    def warm(self, *modules: str) -> None:
        """A hint that such jobs come soon, with what they import."""


class Here:
    """One after the other, in this process."""

    def __call__(self, function: Callable[..., T], jobs: Sequence[Job]) -> list[T]:
        """One result a job."""
        return [function(*job) for job in jobs]

    def warm(self, *modules: str) -> None:
        """Nothing to prepare."""


class Processes:
    """In ``count`` processes, started when first needed; they end with their jobs.

    What follows the jobs needs the memory; further jobs have new ones started.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: Future[ProcessPoolExecutor] | None = None

    def __call__(self, function: Callable[..., T], jobs: Sequence[Job]) -> list[T]:
        """One result a job. Where a process is ended from outside, the rest is done here."""
        if len(jobs) < 2:
            return here(function, jobs)
        found: list[T] = []
        try:
            pool = self._started().result()
            futures = [pool.submit(function, *job) for job in jobs]
            for future in futures:
                found.append(future.result())
        except BrokenProcessPool:
            # Most likely for lack of memory: one process needs less, and its results are the same.
            return found + [function(*job) for job in jobs[len(found) :]]
        finally:
            self.close()
        return found

    def warm(self, *modules: str) -> None:
        """Start the processes and have each import the modules, without waiting for it."""
        self._started(modules)

    def close(self) -> None:
        """End the processes; what they have not begun is dropped."""
        pool, self._pool = self._pool, None
        if pool is not None and pool.exception() is None:
            pool.result().shutdown(wait=False, cancel_futures=True)

    def _started(self, modules: Sequence[str] = ()) -> Future[ProcessPoolExecutor]:
        if self._pool is None:
            # A process is made by one that imports large libraries first; a thread waits for it.
            line = ThreadPoolExecutor(1, "fanout")
            self._pool = line.submit(self._start, tuple(modules))
            line.shutdown(wait=False)
        return self._pool

    def _start(self, modules: tuple[str, ...]) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(self._count, nursery(), _begin, (modules,))
        for _ in range(self._count):
            pool.submit(os.getpid)
        return pool


here = Here()


@contextmanager
def side_by_side(count: int) -> Iterator[Each]:
    """Up to ``count`` processes for the time of the block; with one, this one.

    A cluster's worker may have no children: there, too, it is this process.
    """
    if count < 2 or multiprocessing.current_process().daemon:
        yield here
        return
    each = Processes(count)
    try:
        yield each
    finally:
        each.close()


def nursery() -> BaseContext:
    """How children are made: forked from a process that has the large libraries once.

    Never from this one: it has threads, and what a fork does to their locks nobody knows. Where
    reading had such a process started, it is that one, and children import for themselves.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tasks.process.preloaded"])
    # What is imported there reads these, and may not start threads before it forks.
    with _STARTING:
        before = {name: os.environ.get(name) for name in _THREADS}
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        try:
            forkserver.ensure_running()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
    return context


def begin(modules: Sequence[str]) -> None:
    """Ready a fresh process for jobs: one thread each, quiet when interrupted, never an orphan."""
    # Before numpy and polars are imported, which read these; the cores are shared out already.
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    threading.Thread(target=end_with_parent, daemon=True).start()
    # What is imported stays: nothing in it is garbage.
    gc.disable()
    for name in modules:
        import_module(name)
    gc.enable()
    gc.set_threshold(200_000, 20, 20)


def _begin(modules: Sequence[str]) -> None:
    sys.meta_path.insert(0, WithoutPandas())
    begin(modules)
