"""The things that are measured, each run in a process of its own; prints one JSON line."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Figures = dict[str, float]


def _seconds(function: Callable[[], Any]) -> float:
    """Returns how long a call takes, wall clock."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def scan(source: str, round_id: str, folder: Path) -> Figures:
    """Unpacks a round and counts the record markers: the least that any reader must do."""
    from tasks.sources.snapshot import files, pin

    byte_count = marker_count = 0
    start = time.perf_counter()
    for file in files(pin(round_id, source), folder):
        byte_count += len(file.data)
        marker_count += file.data.count(b":::ML")
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes": byte_count, "markers": marker_count}


def ingest(source: str, round_id: str, folder: Path) -> Figures:
    """Reads an archive into validated Parquet as `gpurank ingest` does, without Prefect.

    ``start_s`` (the fork server) and ``import_s`` (Great Expectations) are paid once per command
    and stand apart.
    """
    from gpurank.settings import default_workers
    from tasks.checks.validate import validate_version
    from tasks.ingest.round import read_snapshot, row_counts, source_files
    from tasks.pool import run_in_subprocess
    from tasks.sources.snapshot import pin

    raw = folder / "raw"
    raw.mkdir()
    start_s = _seconds(lambda: run_in_subprocess(int))
    import_s = _seconds(lambda: __import__("great_expectations"))
    arguments = pin(round_id, source), folder, raw, default_workers()
    read_s = _seconds(lambda: run_in_subprocess(read_snapshot, *arguments))
    validate_s = _seconds(lambda: validate_version(raw, round_id))
    return {
        "seconds": read_s + validate_s,
        "read_s": read_s,
        "validate_s": validate_s,
        "start_s": start_s,
        "import_s": import_s,
        "bytes": sum(byte_count for _, _, byte_count in source_files(raw)),
        "records": row_counts(raw)["event"],
    }


def extract(source: str, round_id: str, folder: Path) -> Figures:
    """Writes an even pick of some 60 MB of a round's result logs for the official parser.

    It would take minutes for all of them.
    """
    from tasks.sources.snapshot import files, pin

    logs = [
        file.data
        for file in files(pin(round_id, source), folder)
        if file.path.rpartition("/")[2].startswith("result_") and b":::ML" in file.data
    ]
    every = max(1, round(sum(map(len, logs)) / 60e6))
    for number, data in enumerate(logs[::every]):
        (folder / f"{number:05}.log").write_bytes(data)
    return {"files": len(logs[::every]), "bytes": sum(map(len, logs[::every]))}


def analyze(source: str, round_id: str, folder: Path) -> Figures:
    """Builds the warehouse of the store in ``folder``, with full bootstraps, without Prefect."""
    from flows.as_of import build
    from gpurank.settings import load

    settings = load(home=folder, environ={})
    return {"seconds": _seconds(lambda: build(settings))}


_STEPS = {step.__name__: step for step in (scan, ingest, extract, analyze)}

if __name__ == "__main__":
    name, source, round_id, folder = sys.argv[1:]
    print(json.dumps(_STEPS[name](source, round_id, Path(folder))))
