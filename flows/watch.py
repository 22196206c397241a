"""Watch a source: look for new and changed rounds, ingest those, analyze once, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from prefect import flow
from prefect.runtime import flow_run
from pydantic import Field

from flows import artifacts, events, progress
from flows.analyze import update_warehouse
from flows.data_folder import locked
from flows.errors import RoundsFailed, WatchIncomplete
from flows.prefect_runtime.task_runner import task_runner
from flows.prefect_tasks import ingest_rounds, look_for_changes
from gpurank.operations import watch_record
from gpurank.operations.watch_record import TO_INGEST, Finding
from gpurank.settings import Settings, load
from gpurank.store.versions import now
from tasks.upkeep.watch import is_stale, make_record


@flow(name="watch", flow_run_name="watch", task_runner=task_runner(), persist_result=False)
def watch(
    source: str | None = None,
    home: str | None = None,
    lambda_chips: Annotated[float, Field(gt=0)] | None = None,
    accept_shrink: bool = False,
    run_id: str | None = None,
) -> dict[str, Any]:
    """Bring the data folder up to what ``source`` holds now; returns what was found and done.

    A question that fails is reported and changes nothing. A scheduled run that comes late ends at
    once where another run has caught up since.

    Raises:
        RoundsFailed: a round that was found could not be ingested.
        WatchIncomplete: some questions were not answered.
    """
    settings = load(
        home=home,
        source=source,
        lambda_chips=lambda_chips,
        accept_shrink=accept_shrink,
        run_id=run_id,
    )
    if is_superseded(settings):
        return {"state": "superseded"}
    with locked(settings, "gpurank watch"):
        started_at = now()
        findings = look_for_changes(settings)
        report_findings(findings)
        wanted = [finding.round_id for finding in findings if finding.state in TO_INGEST]
        results = ingest_rounds(wanted, settings, raise_single=False)
        record = make_record(started_at, findings, results, settings)
        # A run that is killed while it analyses has not watched completely.
        watch_record.write(settings.watch_path, replace(record, is_complete=False))
        is_analyzed = is_stale(settings)
        if is_analyzed:
            artifacts.create_reconciliation(results)
            update_warehouse(settings)
        record = replace(record, finished_at=now())
        watch_record.write(settings.watch_path, record)
    moved = [result.round_id for result in results if result.state == "ingested"]
    artifacts.create_watch(record, moved, settings)
    events.emit_watch(record, moved, settings)
    progress.current().say(summary_text(findings, is_analyzed))
    if record.failed:
        raise RoundsFailed(results)
    if record.unanswered:
        raise WatchIncomplete(record)
    return {
        "state": "changed" if moved else "unchanged",
        "moved": moved,
        "is_analyzed": is_analyzed,
        "findings": [asdict(finding) for finding in findings],
    }


def is_superseded(settings: Settings) -> bool:
    """Returns whether this is a late run of the schedule, and a complete watch has run since."""
    record = watch_record.read(settings.watch_path)
    if record is None or not record.is_complete or "auto-scheduled" not in (flow_run.tags or ()):
        return False
    due, started = flow_run.scheduled_start_time, datetime.fromisoformat(record.started_at)
    # A time in the future means that the clock was set back: the record proves nothing then.
    return due is not None and due < started <= datetime.now(UTC)


def report_findings(findings: Sequence[Finding]) -> None:
    """Show each finding that a person may want to know of."""
    for finding in findings:
        if finding.state in ("unchanged", "absent") and not finding.message:
            continue
        commit = f" at {finding.commit[:12]}" if finding.commit else ""
        message = f": {finding.message}" if finding.message else ""
        progress.current().say(f"{finding.round_id}: {finding.state}{commit}{message}")


def summary_text(findings: Sequence[Finding], is_analyzed: bool) -> str:
    """Returns the last line of a watch: how many rounds were found in each state."""
    counts = [
        f"{sum(finding.state == state for finding in findings)} {state}"
        for state in ("new", "changed", "unchanged", "absent", "unanswered")
    ]
    outcome = "warehouse rebuilt" if is_analyzed else "warehouse left as it is"
    return f"watch: {', '.join(counts)}; {outcome}"
