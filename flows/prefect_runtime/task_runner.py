"""Where tasks run: in threads of this process, or on the workers of a Dask cluster.

One task ingests a round; on a cluster, one task runs the method on a benchmark.

Chosen by the user's environment: ``GPURANK_RUNNER`` is ``threads`` (default), ``dask`` (a cluster
of this machine) or ``dask:tcp://head:8786`` (a running cluster). Workers need the same
GPURANK_HOME, on a file system that they share, and the same code.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext
from prefect.task_runners import ThreadPoolTaskRunner

from gpurank.settings import Settings, SettingsError, default_workers
from tasks import pool
from tasks.pool import Each, Job

T = TypeVar("T")
VARIABLE = "GPURANK_RUNNER"


def task_runner(workers: int | None = None) -> Any:
    """Returns the configured task runner; it runs ``workers`` tasks at once (default: the cores).

    Raises:
        SettingsError: an unknown kind, or Dask's packages are not installed.
    """
    kind, address = _configuration()
    count = workers or default_workers()
    if kind == "threads" and not address:
        return ThreadPoolTaskRunner(max_workers=count)
    if kind != "dask":
        raise SettingsError(f"{VARIABLE}={kind!r} is neither threads nor dask")
    try:
        from prefect_dask.task_runners import DaskTaskRunner
    except ImportError as error:
        raise SettingsError(
            f"{VARIABLE}=dask needs packages that are not installed ({error}); "
            "pip install 'gpurank[dask]'"
        ) from None
    if address:
        return DaskTaskRunner(address=address)
    return DaskTaskRunner(cluster_kwargs={"n_workers": count, "threads_per_worker": 1})


def readers_per_round(settings: Settings, round_count: int) -> int:
    """Returns how many processes parse each round's files.

    Rounds are ingested side by side, as many as there are workers, so that the workers are divided
    among them. On a cluster, a round is read by its worker alone.
    """
    if _is_on_a_cluster():
        return 1
    return max(1, settings.workers // min(settings.workers, max(1, round_count)))


@contextmanager
def side_by_side(settings: Settings) -> Iterator[Each]:
    """Provide what runs the method's jobs: processes of this machine, or the flow's cluster."""
    if _is_on_a_cluster():
        yield ClusterJobs()
    else:
        with pool.side_by_side(settings.workers) as each:
            yield each


class ClusterJobs:
    """Runs jobs as tasks of the running flow, on its task runner; an ``Each`` of tasks.pool.

    Create it in the flow: a task that runs the jobs holds objects that cannot be sent to a worker,
    so that the jobs are submitted in the flow's context instead of the task's.
    """

    def __init__(self) -> None:
        self._flow_context = copy_context()

    def __call__(self, function: Callable[..., T], jobs: Sequence[Job]) -> list[T]:
        """Returns one result per job, in the jobs' order; raises the first error among them."""
        packed = [pickle.dumps((function, job)) for job in jobs]
        futures = self._flow_context.run(lambda: [run_job.submit(data) for data in packed])
        return [pickle.loads(future.result()) for future in futures]  # noqa: S301 (our own)


@task(name="method-job", task_run_name="method-job", cache_policy=NO_CACHE, persist_result=False)
def run_job(packed: bytes) -> bytes:
    """Run a pickled function with its arguments and return the pickled result.

    Pickled, because Prefect and Dask would otherwise walk through the frames on the way.
    """
    function, job = pickle.loads(packed)  # noqa: S301 (our own)
    return pickle.dumps(function(*job))


def _is_on_a_cluster() -> bool:
    """Returns whether a flow is running whose tasks go to a cluster."""
    return FlowRunContext.get() is not None and _configuration()[0] != "threads"


def _configuration() -> tuple[str, str]:
    """Returns kind and address of the configured runner."""
    kind, _, address = os.environ.get(VARIABLE, "threads").partition(":")
    return kind, address
