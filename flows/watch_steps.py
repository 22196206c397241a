"""The steps of a watch: ask, ingest, analyze, keep a record, tell everyone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run

from flows import artifacts, events, progress
from flows import prefect_tasks as steps
from flows.errors import RoundsFailed, WatchIncomplete
from gpurank.operations import watch_record as watching
from gpurank.operations.watch_record import TO_INGEST, Finding, WatchRecord
from gpurank.settings import Settings
from gpurank.store.versions import now
from tasks.ingest.round import IngestResult
from tasks.upkeep.watch import is_stale, look


@dataclass(frozen=True, slots=True)
class Watched:
    """What a watch found, what became of the rounds it read, whether the warehouse is new."""

    record: WatchRecord
    outcomes: tuple[IngestResult, ...]
    is_analyzed: bool

    @property
    def moved(self) -> tuple[str, ...]:
        """Rounds whose version in use is another than before."""
        return tuple(item.round_id for item in self.outcomes if item.state == "ingested")


@task(name="look", task_run_name="look", tags=["watch"], cache_policy=NO_CACHE)
def asked(settings: Settings) -> tuple[Finding, ...]:
    """Ask the source for every round that may be new or changed."""
    return look(settings)


def is_superseded(settings: Settings) -> bool:
    """Whether this is a missed slot of the schedule that a complete watch has made up for."""
    record = watching.read(settings.watch_path)
    if record is None or not record.is_complete or "auto-scheduled" not in (flow_run.tags or ()):
        return False
    due, started = flow_run.scheduled_start_time, datetime.fromisoformat(record.started_at)
    # A time in the future is a clock that was set back, no reason to trust the record.
    return due is not None and due < started <= datetime.now(UTC)


def bring_up_to_date(settings: Settings) -> Watched:
    """Ask, ingest what is new or changed, analyze once if the warehouse is behind."""
    display, started_at = progress.current(), now()
    findings = asked(settings)
    for item in findings:
        if item.state not in ("unchanged", "absent") or item.message:
            display.say(_line(item))
    wanted = [item.round_id for item in findings if item.state in TO_INGEST]
    outcomes = steps.ingest_rounds(wanted, settings, raise_single=False) if wanted else []
    record = _record(started_at, findings, outcomes, settings)
    watching.write(settings.watch_path, replace(record, is_complete=False))
    is_behind = is_stale(settings)
    if is_behind:
        artifacts.reconciliation(outcomes)
        reports = steps.build_warehouse(settings)
        artifacts.ranking(settings)
        artifacts.validation(settings, reports)
    record = replace(record, finished_at=now())
    watching.write(settings.watch_path, record)
    return Watched(record, tuple(outcomes), is_behind)


def announced(watched: Watched, settings: Settings) -> dict[str, Any]:
    """Emit the event and the artifact that say what changed; gives the same as a value.

    Raises:
        RoundsFailed: a round that was found could not be ingested.
        WatchIncomplete: some questions were not answered.
    """
    artifacts.watch(watched.record, watched.moved, settings)
    events.watched(watched.record, watched.moved, settings)
    progress.current().say(_summary(watched))
    if watched.record.failed:
        raise RoundsFailed(watched.outcomes)
    if watched.record.unanswered:
        raise WatchIncomplete(watched.record)
    return {
        "state": "changed" if watched.moved else "unchanged",
        "moved": list(watched.moved),
        "is_analyzed": watched.is_analyzed,
        "findings": [asdict(item) for item in watched.record.findings],
    }


def _record(
    started_at: str,
    findings: Sequence[Finding],
    outcomes: Sequence[IngestResult],
    settings: Settings,
) -> WatchRecord:
    ingested = {item.round_id: item.version_id or "" for item in outcomes if item.state != "failed"}
    failed = {item.round_id: item.message or "" for item in outcomes if item.state == "failed"}
    is_complete = not failed and all(item.state != "unanswered" for item in findings)
    return WatchRecord(
        started_at, now(), settings.run_id, is_complete, tuple(findings), ingested, failed
    )


def _line(finding: Finding) -> str:
    commit = f" at {finding.commit[:12]}" if finding.commit else ""
    message = f": {finding.message}" if finding.message else ""
    return f"{finding.round_id}: {finding.state}{commit}{message}"


def _summary(watched: Watched) -> str:
    counts = [
        f"{sum(item.state == state for item in watched.record.findings)} {state}"
        for state in ("new", "changed", "unchanged", "absent", "unanswered")
    ]
    built = "warehouse rebuilt" if watched.is_analyzed else "warehouse left as it is"
    return f"watch: {', '.join(counts)}; {built}"
