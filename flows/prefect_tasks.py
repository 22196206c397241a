"""Prefect tasks: functions of tasks/ with a name and, where it helps, retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from flows import progress
from flows.prefect_runtime.task_runner import readers_per_round
from gpurank.errors import explain
from gpurank.operations.watch_record import Finding
from gpurank.settings import Settings
from gpurank.store import remote, rounds_lock
from tasks.ingest import round as ingest
from tasks.ingest import shipped
from tasks.ingest.round import IngestResult
from tasks.sources.base import SourceUnavailable
from tasks.upkeep.watch import look

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State, TaskRun

# Rounds of unknown size are taken for large ones.
_UNKNOWN_SIZE_B = 1 << 40


def run_as_task(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run one stage of a pipeline as a Prefect task and return its result."""
    started = time.monotonic()
    stage = task(name=name, task_run_name=name, cache_policy=NO_CACHE, persist_result=False)
    result = stage(function)(*arguments)
    progress.current().say(f"analysis: {name} ({time.monotonic() - started:.1f} s)")
    return result


def _is_worth_a_retry(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """Returns whether a source did not answer; a missing or damaged source stays so."""
    return isinstance(state.result(raise_on_failure=False), SourceUnavailable)


@task(
    name="ingest-round",
    task_run_name="ingest-{round_id}",
    retries=2,
    retry_delay_seconds=[2, 15],
    retry_condition_fn=_is_worth_a_retry,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def ingest_round(
    round_id: str, settings: Settings, from_shipped: bool = False, readers: int = 1
) -> IngestResult:
    """Bring one round up to date in the store."""
    display = progress.current()
    remote.pull_round(settings, round_id)
    if from_shipped:
        result = shipped.adopt(round_id, settings)
    else:
        result = ingest.ingest_round(
            round_id,
            settings,
            lambda done_b, files: display.show_reading(round_id, done_b, files),
            readers,
        )
    remote.push_round(settings, round_id)
    display.show_result(result)
    return result


def ingest_rounds(
    round_ids: Sequence[str],
    settings: Settings,
    from_shipped: bool = False,
    raise_single: bool = True,
) -> list[IngestResult]:
    """Ingest rounds side by side and return one result per round, in their order.

    A failed round has a result as well; but where there is only one round and ``raise_single``
    is set, its error is raised.
    """
    readers = readers_per_round(settings, len(round_ids))
    sizes = {round_id: entry.bytes for round_id, entry in rounds_lock.shipped().items()}
    # The largest first, so that the cores finish at about the same time.
    order = sorted(round_ids, key=lambda name: -sizes.get(name, _UNKNOWN_SIZE_B))
    futures = {name: ingest_round.submit(name, settings, from_shipped, readers) for name in order}
    results = []
    for round_id in round_ids:
        result = futures[round_id].result(raise_on_failure=False)
        if isinstance(result, BaseException):
            if len(round_ids) == 1 and raise_single:
                raise result
            result = failed_result(round_id, result)
            progress.current().show_result(result)
        results.append(result)
    return results


def failed_result(round_id: str, error: BaseException) -> IngestResult:
    """Returns the result of a round that failed."""
    code, message = explain(error)
    return IngestResult(round_id, "failed", message=message, exit_code=int(code))


@task(name="look", task_run_name="look", cache_policy=NO_CACHE)
def look_for_changes(settings: Settings) -> tuple[Finding, ...]:
    """Ask the source about every round that may be new or changed."""
    return look(settings)
