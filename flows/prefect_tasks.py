"""The tasks of the flows: plain functions of tasks/, with names, retries and tags."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from flows import progress
from flows.prefect_runtime import task_runner as runners
from flows.prefect_runtime.server import limit_tags
from gpurank.declared.validation import ValidationFailed, ValidationReport
from gpurank.errors import explain
from gpurank.settings import Settings
from gpurank.store import remote
from gpurank.store import rounds_lock as roundlock
from gpurank.store.run_lock import writing
from gpurank.store.versions import Store
from tasks.build import assemble, provenance, publish
from tasks.build.load import new_warehouse
from tasks.ingest import round as ingest
from tasks.ingest import shipped
from tasks.ingest.round import IngestResult

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State, TaskRun


@contextmanager
def locked(settings: Settings, command: str) -> Iterator[None]:
    """Hold the run lock; first clear away what a dead predecessor left."""
    with (
        writing(settings.lock_path, command) as predecessor,
        remote.claimed(settings, command),
    ):
        remote.pull(settings)
        left = Store(settings.raw_dir).sweep() + publish.sweep(settings)
        if predecessor is not None:
            progress.current().say(
                f"the run of {predecessor} ended without finishing; {left} half-built "
                "pieces of it were removed and this run takes over"
            )
        try:
            yield
        finally:
            remote.push_records(settings)


def _is_worth_a_retry(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """Only a source that did not answer; what is absent or wrong stays so."""
    from tasks.sources.snapshot import SourceUnavailable

    return isinstance(state.result(raise_on_failure=False), SourceUnavailable)


@task(
    name="ingest-round",
    task_run_name="ingest-{round_id}",
    tags=["ingest"],
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
        found = shipped.adopt(round_id, settings)
    else:
        found = ingest.ingest_round(
            round_id,
            settings,
            lambda done_b, files: display.reading(round_id, done_b, files),
            readers,
        )
    remote.push_round(settings, round_id)
    display.finished(found)
    return found


def ingest_rounds(
    names: Sequence[str],
    settings: Settings,
    from_shipped: bool = False,
    raise_single: bool = True,
) -> list[IngestResult]:
    """Ingest rounds side by side; a failure is an outcome, unless there is but one round.

    ``raise_single=False`` makes the failure of a single round an outcome, too.

    Raises:
        Exception: the only round failed; its error.
    """
    display = progress.current()
    readers = runners.readers_per_round(settings, len(names))
    # The largest first: the cores then end at about the same time.
    known = roundlock.shipped()
    order = sorted(names, key=lambda name: -(known[name].bytes if name in known else 1 << 40))
    ingest_one = ingest_round.with_options(tags=limit_tags("ingest"))
    futures = {name: ingest_one.submit(name, settings, from_shipped, readers) for name in order}
    outcomes = []
    for name in names:
        found = futures[name].result(raise_on_failure=False)
        if isinstance(found, BaseException):
            if len(names) == 1 and raise_single:
                raise found
            found = failed(name, found)
            display.finished(found)
        outcomes.append(found)
    return outcomes


def failed(round_id: str, error: BaseException) -> IngestResult:
    """The outcome of a round that failed."""
    code, message = explain(error)
    return IngestResult(round_id, "failed", message=message, exit_code=int(code))


def summary(outcomes: Sequence[IngestResult]) -> list[dict[str, Any]]:
    """Outcomes as a flow's value; says how many there were of each kind."""
    counts = Counter(item.state for item in outcomes)
    told = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    progress.current().say(f"{len(outcomes)} rounds: {told}")
    return [asdict(item) for item in outcomes]


def analysis_task(step: assemble.Step) -> Callable[..., Any]:
    """A step of the analysis as a task."""
    return task(
        name=step.name,
        task_run_name=step.name,
        tags=limit_tags("analyze"),
        cache_policy=NO_CACHE,
        persist_result=False,
    )(step.run)


def build_warehouse(settings: Settings) -> list[ValidationReport]:
    """Build a new warehouse of every round's version in use and put it in the old one's place."""
    display = progress.current()
    remote.pull(settings)
    reports: list[ValidationReport] = []
    with publish.building(settings) as path:
        try:
            with new_warehouse(path) as con, runners.side_by_side(settings) as each:
                for step in assemble.steps(each):
                    started = time.monotonic()
                    result = analysis_task(step)(con, settings)
                    reports += assemble.reports_of(result)
                    display.say(f"analysis: {step.name} ({time.monotonic() - started:.1f} s)")
                assemble.note_warnings(con, reports)
                name = provenance.current(con)
        except ValidationFailed as error:
            reports.append(error.report)
            raise
        finally:
            assemble.write_page(settings, reports)
        publish.swap(path, settings)
    assemble.write_quality_page(settings)
    display.say(f"published {settings.warehouse_path} ({name})")
    return reports
