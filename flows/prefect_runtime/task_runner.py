"""Where work runs side by side: on this machine, or on the workers of a Dask or Ray cluster.

A round is read by one task, the method's jobs on a benchmark by another.

Chosen by configuration alone: ``GPURANK_RUNNER`` is ``threads`` (default), ``dask`` or ``ray``
(a cluster of this machine), or either with the address of a running one
(``dask:tcp://head:8786``, ``ray:head:6379``). Workers need the same GPURANK_HOME, on a file
system that they share, and the same code.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from importlib import import_module
from typing import Any, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import ThreadPoolTaskRunner

from gpurank.settings import Settings, SettingsError, default_workers
from tasks import pool

T = TypeVar("T")
VARIABLE = "GPURANK_RUNNER"
_STORE_B = 128 * 1024**2
_CLASSES = {"dask": ("prefect_dask", "DaskTaskRunner"), "ray": ("prefect_ray", "RayTaskRunner")}


def task_runner(workers: int | None = None) -> Any:
    """The configured task runner; ``workers`` tasks at once (default: the cores).

    Raises:
        SettingsError: an unknown kind, or one whose packages are not installed.
    """
    kind, address = _configured()
    count = workers or default_workers()
    if kind == "threads" and not address:
        return ThreadPoolTaskRunner(max_workers=count)
    if kind not in _CLASSES:
        raise SettingsError(f"{VARIABLE}={kind!r} is none of threads, {', '.join(_CLASSES)}")
    module, name = _CLASSES[kind]
    try:
        runner = getattr(import_module(module), name)
    except ImportError as error:
        raise SettingsError(
            f"{VARIABLE}={kind} needs packages that are not installed ({error}); "
            f"pip install 'gpurank[{kind}]'"
        ) from None
    if address:
        return runner(address=address)
    if kind == "ray":
        # Tasks return a few lines: no page beside ours, and a store that does not take the memory.
        local = {"num_cpus": count, "include_dashboard": False, "object_store_memory": _STORE_B}
        return runner(init_kwargs=local)
    return runner(cluster_kwargs={"n_workers": count, "threads_per_worker": 1})


def readers_per_round(settings: Settings, round_count: int) -> int:
    """Returns how many processes parse each round; on a cluster one, which is a worker's."""
    if _configured() != ("threads", ""):
        return 1
    return max(1, settings.workers // max(1, round_count))


@contextmanager
def side_by_side(settings: Settings) -> Iterator[pool.Each]:
    """Where the method's jobs of a flow run: processes here, or the flow's own cluster."""
    if _configured() == ("threads", ""):
        with pool.side_by_side(settings.workers) as each:
            yield each
    else:
        yield Workers()


class Workers:
    """Jobs as tasks of the running flow, on its task runner; see tasks.pool.Each.

    Make it in the flow. A task that asks for them holds what cannot travel, so that they are
    submitted in the flow's context.
    """

    def __init__(self) -> None:
        self._flow = copy_context()

    def __call__(self, function: Callable[..., T], jobs: Sequence[pool.Job]) -> list[T]:
        """One result a job, in their order; the first error among them is raised."""
        packed = [pickle.dumps((function, job)) for job in jobs]
        futures = self._flow.run(lambda: [run_job.submit(each) for each in packed])
        return [pickle.loads(future.result()) for future in futures]  # noqa: S301 (our own)


@task(
    name="method-job",
    task_run_name="method-job",
    tags=["analyze"],
    cache_policy=NO_CACHE,
    persist_result=False,
)
def run_job(packed: bytes) -> bytes:
    """A function with its arguments, run where the flow's tasks run; packed, so that nobody looks
    into frames on the way."""
    function, job = pickle.loads(packed)  # noqa: S301 (our own)
    return pickle.dumps(function(*job))


def _configured() -> tuple[str, str]:
    """Kind and address of the runner."""
    kind, _, address = os.environ.get(VARIABLE, "threads").partition(":")
    return kind, address
