"""Prefect events that automations can wait for; docs/operations.md lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from prefect.events import emit_event

from gpurank.operations.watch_record import WatchRecord
from gpurank.settings import Settings

CHANGED = "gpurank.watch.changed"
UNCHANGED = "gpurank.watch.unchanged"
INCOMPLETE = "gpurank.watch.incomplete"


def emit_watch(record: WatchRecord, moved: Sequence[str], settings: Settings) -> None:
    """Emit what a watch found: that versions changed or none did, and whether it was incomplete.

    Args:
        record: of the watch.
        moved: rounds whose version in use is another than before.
        settings: of the run.
    """
    payload = {
        "moved": list(moved),
        "unanswered": list(record.unanswered),
        "failed": dict(record.failed),
        "findings": [
            asdict(finding) for finding in record.findings if finding.state != "unchanged"
        ],
        "run_id": record.run_id,
    }
    resource = {
        "prefect.resource.id": "gpurank.data-folder",
        "prefect.resource.name": str(settings.home),
        "gpurank.moved": ", ".join(moved),
    }
    emit_event(CHANGED if moved else UNCHANGED, resource=resource, payload=payload)
    if not record.is_complete:
        emit_event(INCOMPLETE, resource=resource, payload=payload)
