"""Measures what was promised: ``python -m tools.benchmarks.run --source MIRROR [--round v3.0]``.

Seconds belong to one machine at one hour. Read the ratios: both sides of each come from the same
files, one right after the other, and are medians of ``--repeat`` fresh processes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from tools.benchmarks.memory import Peak

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Figures = dict[str, float]


def measure(command: list[str], **environment: str) -> Figures:
    """Returns the figures that a command prints, its wall clock, and the peak of all processes."""
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 (our own scripts)
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    ) as process:
        peak = Peak(process.pid)
        output, _ = process.communicate()
        peak.stop()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    lines = output.strip().splitlines()
    printed = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    process_s = time.perf_counter() - start
    return {"process_s": process_s, "peak_mb": peak.bytes / 1e6, "cpu_s": peak.cpu_s, **printed}


def step(name: str, source: str, round_id: str, folder: str | Path) -> Figures:
    """Returns the figures of one of tools.benchmarks.steps."""
    command = [sys.executable, "-m", "tools.benchmarks.steps", name, source, round_id, str(folder)]
    return measure(command)


def step_in_new_folder(name: str, source: str, round_id: str) -> Figures:
    """Returns the figures of a step that works in an empty folder."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return step(name, source, round_id, folder)


def medians(rows: list[Figures]) -> Figures:
    """Returns the median of each figure."""
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def official_python(folder: Path) -> Path | None:
    """Returns the Python of an environment with the official parser; None if pip cannot get it."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    has_parser = subprocess.run([python, "-c", "import mlperf_logging"], capture_output=True)  # noqa: S603
    if has_parser.returncode:
        command = [python, "-m", "pip", "install", "--quiet", "mlperf-logging"]
        if subprocess.run(command).returncode:  # noqa: S603
            return None
    return python


def measure_reading(
    source: str, round_id: str, repeat: int, official: Path | None
) -> dict[str, Figures]:
    """Returns the figures of reading one round, taken in turns so that all see the same machine."""
    rows: dict[str, list[Figures]] = {"scan": [], "ingest": [], "official": []}
    with tempfile.TemporaryDirectory(prefix="bench-") as logs:
        step("extract", source, round_id, logs)
        for _ in range(repeat):
            rows["scan"].append(step_in_new_folder("scan", source, round_id))
            rows["ingest"].append(step_in_new_folder("ingest", source, round_id))
            if official is not None:
                command = [str(official), str(HERE / "official.py"), logs, f"{round_id[1:]}.0"]
                rows["official"].append(measure(command))
    return {name: medians(figures) for name, figures in rows.items() if figures}


def measure_commands(repeat: int) -> dict[str, Figures]:
    """Returns the figures of the commands on the shipped facts, and of an analysis by itself."""
    gpurank = [sys.executable, str(Path(sys.executable).with_name("gpurank"))]
    rows: dict[str, list[Figures]] = {"run": [], "run_again": [], "top": [], "analyze": []}
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="bench-") as home:
            rows["run"].append(measure([*gpurank, "run"], GPURANK_HOME=home))
            rows["run_again"].append(measure([*gpurank, "run"], GPURANK_HOME=home))
            top = [*gpurank, "top", "--benchmark", "resnet"]
            rows["top"].append(measure(top, GPURANK_HOME=home))
            rows["analyze"].append(step("analyze", "", "", home))
    return {name: medians(figures) for name, figures in rows.items()}


def compare_with_targets(figures: dict[str, Figures]) -> list[tuple[str, float, str, float]]:
    """Returns (what, value, "at least" or "at most", target) of each promise that was measured."""
    ingest, scan = figures["ingest"], figures["scan"]
    rows = [("ingest / unpack and scan, time", ingest["seconds"] / scan["seconds"], "at most", 3.5)]
    if official := figures.get("official"):
        speed, official_speed = (row["bytes"] / row["seconds"] for row in (ingest, official))
        rows.append(("ingest / official parser, speed", speed / official_speed, "at least", 12.0))
    rows.append(("ingest, memory of all processes, MB", ingest["peak_mb"], "at most", 1000.0))
    if "run" in figures:
        rows += [
            ("gpurank run, shipped facts, s", figures["run"]["process_s"], "at most", 30.0),
            ("the same, memory of all processes, MB", figures["run"]["peak_mb"], "at most", 1000.0),
            ("the same again, unchanged, s", figures["run_again"]["process_s"], "at most", 5.0),
            ("analysis without Prefect, s", figures["analyze"]["seconds"], "at most", 20.0),
            ("gpurank top, s", figures["top"]["process_s"], "at most", 0.5),
        ]
    return rows


def main() -> None:
    """Measures, prints each promise with its value, and writes all figures where asked."""
    parser = argparse.ArgumentParser(prog="tools.benchmarks.run", description=__doc__)
    parser.add_argument("--source", required=True, help="mirror folder of the rounds' archives")
    parser.add_argument("--round", default="v3.0", dest="round_id")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--official", type=Path, default=Path("data/bench/official"))
    parser.add_argument("--output", type=Path, help="JSON file for all figures")
    parser.add_argument("--only-reading", action="store_true", help="no run, analysis or top")
    args = parser.parse_args()
    official = official_python(args.official.absolute())
    if official is None:
        print("the official parser cannot be installed here; left out", file=sys.stderr)
    source = str(Path(args.source).absolute())
    load = os.getloadavg()[0]
    figures = measure_reading(source, args.round_id, args.repeat, official)
    if not args.only_reading:
        figures |= measure_commands(args.repeat)
    for name, value, bound, target in compare_with_targets(figures):
        holds = value >= target if bound == "at least" else value <= target
        answer = "holds" if holds else "MISSED"
        print(f"{name:40} {value:8.2f}  {bound} {target:g}: {answer}")
    print(f"{os.cpu_count()} cores; load before the first measurement {load:.1f}")
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        document = {"cores": os.cpu_count(), "load": load, "figures": figures}
        args.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
