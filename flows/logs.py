"""Progress as one JSON object a line on stderr, for machines that collect logs."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flows.console import current_console
from flows.progress import Lines
from tasks.ingest.round import IngestResult

_LOCK = threading.Lock()


def is_json() -> bool:
    """Whether logs are asked for as JSON."""
    return current_console().is_json


def write(level: str, message: str, **more: Any) -> None:
    """One line: time (UTC), level, run_id, message and whatever else is known."""
    row = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "run_id": os.environ.get("GPURANK_RUN_ID"),
        "message": message,
        **more,
    }
    with _LOCK:
        print(json.dumps(row, ensure_ascii=False), file=sys.stderr, flush=True)


class JsonLines(Lines):
    """The lines of a run as JSON."""

    def __init__(self, expected_b: Mapping[str, int]) -> None:
        super().__init__(expected_b)

    def finished(self, outcome: IngestResult) -> None:
        level = "error" if outcome.state == "failed" else "info"
        write(
            level,
            outcome.message or f"{outcome.round_id} {outcome.state}",
            event="round",
            round_id=outcome.round_id,
            state=outcome.state,
            version_id=outcome.version_id,
            source_commit=outcome.commit,
            counts=outcome.counts,
        )

    def say(self, text: str) -> None:
        write("info", text)
