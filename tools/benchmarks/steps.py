"""The things that are measured, each run in a process of its own; prints one JSON line."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpurank.logs.source_files import SourceFile

Figures = dict[str, float]


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Wall clock, s; with BENCH_CLOCK=cpu processor time, which others disturb less."""
    clock = time.process_time if os.environ.get("BENCH_CLOCK") == "cpu" else time.perf_counter
    start = clock()
    value = function()
    return clock() - start, value


def scan(source: str, round_id: str, work: str) -> Figures:
    """Unpack a round and count the record markers: the least that any reader must do."""
    from tasks.sources.snapshot import files, pin

    def count() -> tuple[int, int]:
        size = found = 0
        for file in files(pin(round_id, source), Path(work)):
            size += len(file.data)
            found += file.data.count(b":::ML")
        return size, found

    seconds, (size, found) = _timed(count)
    return {"seconds": seconds, "bytes": size, "markers": found}


def ingest(source: str, round_id: str, work: str) -> Figures:
    """Archive to validated Parquet as the workflow does it, without orchestration.

    Apart: the start of the process that reading ones are forked from, and what the validation
    library takes to load.
    """
    from gpurank.settings import default_workers
    from tasks.checks.validate import validate_version
    from tasks.ingest.round import read_round, row_counts, source_files
    from tasks.process.sharing import share
    from tasks.process.worker import run_alone
    from tasks.sources.snapshot import pin

    folder = Path(work) / "raw"
    folder.mkdir(parents=True)
    count = share(default_workers(), 1).partners
    start_s, _ = _timed(lambda: run_alone(int, partner_count=count))
    arguments = pin(round_id, source), Path(work), folder
    read_s, _ = _timed(lambda: run_alone(read_round, *arguments, partner_count=count))
    import_s, _ = _timed(lambda: __import__("great_expectations"))
    validate_s, _ = _timed(lambda: validate_version(folder, round_id))
    return {
        "seconds": read_s + validate_s,
        "read_s": read_s,
        "validate_s": validate_s,
        "start_s": start_s,
        "import_s": import_s,
        "bytes": sum(size for _, _, size in source_files(folder)),
        "records": row_counts(folder)["event"],
    }


def scores(source: str, round_id: str, work: str) -> Figures:
    """Archive to validated scores (metrics.score) of one round, without orchestration."""
    from gpurank.settings import load
    from tasks.build.identity import load_identity
    from tasks.build.load import new_warehouse
    from tasks.build.stages import build_layer, load_rounds
    from tasks.ingest.round import ingest_round
    from tasks.process.sharing import share
    from tasks.process.worker import run_alone

    settings = load(home=work, source=source)
    import_s, _ = _timed(lambda: __import__("great_expectations"))
    one = share(settings.workers, 1)
    start_s, _ = _timed(lambda: run_alone(int, partner_count=one.partners))
    ingest_s, _ = _timed(lambda: ingest_round(round_id, settings, share=one))

    def derive() -> int:
        with new_warehouse(settings.warehouse_path) as con:
            load_rounds(con, settings)
            load_identity(con)
            for layer in ("staging", "core", "metrics"):
                build_layer(con, layer, settings)
            ((count,),) = con.execute(
                "select count(*) from metrics.score where score_min is not null"
            ).fetchall()
            return int(count)

    derive_s, count = _timed(derive)
    return {
        "seconds": ingest_s + derive_s,
        "ingest_s": ingest_s,
        "derive_s": derive_s,
        "start_s": start_s,
        "import_s": import_s,
        "scores": count,
    }


def all_rounds(source: str, rounds: str, work: str, workers: str = "") -> Figures:
    """Archives to validated Parquet by the orchestrated flow.

    Asked a second time of the same folder, nothing having changed, what it takes is the
    orchestrator's own: its start, its tasks and their bookkeeping.
    """
    from flows.prefect_runtime.session import prefect_session
    from gpurank.settings import load

    settings = load(home=work, source=source, workers=int(workers) if workers else None)

    def orchestrate() -> tuple[float, set[str]]:
        with prefect_session(settings):
            from flows.backfill import backfill

            started = time.perf_counter()
            outcomes = backfill(rounds, source, work, then_analyze=False)
            return time.perf_counter() - started, {item["state"] for item in outcomes}

    seconds, (flow_s, states) = _timed(orchestrate)
    manifests = Path(work).glob("raw/*/*/manifest.json")
    size = sum(json.loads(path.read_text())["byte_count"] for path in manifests)
    return {
        "seconds": seconds,
        "flow_s": flow_s,
        "bytes": size,
        "unchanged": float(states == {"unchanged"}),
    }


def unpack(source: str, round_id: str, work: str) -> Figures:
    """Write a round's files to a folder, for a tool that reads folders."""
    from tasks.sources.snapshot import files, pin

    size = 0
    for file in files(pin(round_id, source), Path(work)):
        path = Path(work) / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.data)
        size += file.byte_count
    return {"bytes": size}


def reader(source: str, round_id: str, work: str) -> Figures:
    """Records and run facts from the logs that ``extract`` wrote, bytes in memory."""
    from gpurank.logs.records import read_log

    logs = [path.read_bytes() for path in sorted(Path(work).glob("*.log"))]
    seconds, counts = _timed(lambda: [len(read_log(data)) for data in logs])
    return {"seconds": seconds, "bytes": sum(map(len, logs)), "records": sum(counts)}


def extract(source: str, round_id: str, work: str, limit_b: str = "60000000") -> Figures:
    """Write a share of a round's result logs, evenly picked, for the readers to be compared on."""
    from tasks.sources.snapshot import files, pin

    logs = [
        file.data
        for file in files(pin(round_id, source), Path(work))
        if file.path.rpartition("/")[2].startswith("result_") and b":::ML" in file.data
    ]
    every = max(1, round(sum(map(len, logs)) / int(limit_b)))
    for number, data in enumerate(logs[::every]):
        (Path(work) / f"{number:05}.log").write_bytes(data)
    return {"files": len(logs[::every]), "bytes": sum(map(len, logs[::every]))}


def reingest(source: str, round_id: str, work: str) -> Figures:
    """A round read and published, then asked for again with nothing changed."""
    from gpurank.settings import load
    from tasks.ingest.round import ingest_round

    settings = load(home=work, source=source)
    first, _ = _timed(lambda: ingest_round(round_id, settings))
    again, outcome = _timed(lambda: ingest_round(round_id, settings))
    if outcome.state != "unchanged":
        raise SystemExit(f"a second ingest of {round_id} was {outcome.state}")
    return {"first_s": first, "seconds": again}


def growth(source: str, round_id: str, work: str, copies: str) -> Figures:
    """The round's files some times over, as those of other submitters."""
    from tasks.ingest.raw_tables import write_round
    from tasks.sources.snapshot import files, pin

    def repeated() -> Iterator[SourceFile]:
        for copy in range(int(copies)):
            for file in files(pin(round_id, source), Path(work)):
                yield dataclasses.replace(file, path=f"copy{copy:02}_{file.path}")

    folder = Path(work) / "raw"
    folder.mkdir(parents=True)
    seconds, counts = _timed(lambda: write_round(repeated(), round_id, folder))
    return {"seconds": seconds, "bytes": counts.bytes, "records": counts.records}


def adopt(source: str, round_id: str, work: str) -> Figures:
    """The shipped facts of every round into a store, to be analysed."""
    from gpurank.settings import load
    from tasks.ingest import shipped

    settings = load(home=work)
    seconds, _ = _timed(lambda: [shipped.adopt(name, settings) for name in shipped.shipped()])
    return {"seconds": seconds}


def analyze(source: str, round_id: str, work: str, bootstraps: str = "full") -> Figures:
    """The warehouse of a store without orchestration; ``bootstraps`` is ``full`` or a number."""
    from flows.analyze import build_warehouse
    from gpurank.settings import load

    settings = load(home=work, bootstraps=None if bootstraps == "full" else int(bootstraps))
    figures: Figures = {}

    def run(name: str, stage: Callable[..., Any], *arguments: Any) -> Any:
        figures[name], result = _timed(lambda: stage(*arguments))
        return result

    seconds, _ = _timed(lambda: build_warehouse(settings, run))
    return {"seconds": seconds, **figures}


def analyze_flow(source: str, round_id: str, work: str, bootstraps: str = "full") -> Figures:
    """The same as `gpurank analyze` does it; ``flow_s`` is the flow, the rest is orchestration."""
    from flows.prefect_runtime.session import prefect_session
    from gpurank.settings import load

    settings = load(home=work)
    number = None if bootstraps == "full" else int(bootstraps)
    # An analysis of which nothing has changed would not be run again.
    settings.warehouse_path.unlink(missing_ok=True)

    def orchestrate() -> float:
        with prefect_session(settings):
            from flows.analyze import analyze as flow

            started = time.perf_counter()
            flow(work, bootstraps=number)
            return time.perf_counter() - started

    seconds, flow_s = _timed(orchestrate)
    return {"seconds": seconds, "flow_s": flow_s, "orchestration_s": seconds - flow_s}


def query(source: str, round_id: str, work: str) -> Figures:
    """A ranking asked of an open warehouse; the first question, and the median of fifty."""
    from gpurank.answers import warehouse as reading

    con = reading.open_warehouse(Path(work) / "warehouse.duckdb")
    first, _ = _timed(lambda: reading.ranking(con, "resnet"))
    times = [_timed(lambda: reading.ranking(con, "resnet"))[0] for _ in range(50)]
    return {"first_s": first, "seconds": statistics.median(times)}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
