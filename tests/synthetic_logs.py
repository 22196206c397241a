"""Synthetic logs, written by hand for the tests of the raw layer."""

from __future__ import annotations

import json
from typing import Any


def record(key: str, time_ms: Any, value: Any = None, **metadata: Any) -> str:
    """One record as a log line since v0.7 holds it."""
    return ":::MLLOG " + json.dumps(
        {
            "namespace": "",
            "time_ms": time_ms,
            "event_type": "POINT_IN_TIME",
            "key": key,
            "value": value,
            "metadata": {"file": "train.py", "lineno": 1, **metadata},
        }
    )


def run(
    minutes: float = 10.0,
    *,
    start_ms: int = 1_600_000_000_000,
    status: str | None = "success",
    quality: Any = 0.76,
    benchmark: str = "resnet",
) -> list[str]:
    """Lines of a whole run: header, start, one evaluation, stop."""
    stop_ms = start_ms + round(minutes * 60_000)
    ending = {} if status is None else {"status": status}
    return [
        record("submission_benchmark", start_ms - 3_000, benchmark),
        record("submission_org", start_ms - 3_000, "Example"),
        record("global_batch_size", start_ms - 2_000, 256),
        record("seed", start_ms - 2_000, 7),
        record("run_start", start_ms),
        record("eval_accuracy", start_ms + 1_000, 0.1, epoch_num=1),
        record("eval_accuracy", stop_ms - 1, quality, epoch_num=2),
        record("run_stop", stop_ms, None, **ending),
    ]


def log(lines: list[str]) -> bytes:
    """The lines as a file."""
    return ("\n".join(lines) + "\n").encode()
