"""Run the benchmarks: ``python -m benchmarks.run --source <mirror folder> [--rounds v3.0,v4.1]``.

Every figure is the median of ``--repeat`` fresh processes. Absolute times belong to one machine
at one hour; read the ratios, which come from the same files in the same run. On a machine that
does other work, BENCH_CLOCK=cpu takes processor time instead of wall clock.
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
from typing import Any

HERE = Path(__file__).parent
Figures = dict[str, Any]


def measured(command: list[str], **environment: str) -> Figures:
    """What a process printed, with its processor time and peak memory."""
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 (our own scripts)
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE.parent,
        env={**os.environ, **environment},
    ) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    lines = text.strip().splitlines()
    found = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return {
        **found,
        "process_s": time.perf_counter() - start,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def step(name: str, *args: str, repeat: int = 1, keep: Path | None = None) -> Figures:
    """Medians of a step over fresh processes, each with an empty folder to work in."""
    found = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="bench-") as work:
            source, round_id, *rest = args
            command = [sys.executable, "-m", "benchmarks.steps", name, source, round_id]
            found.append(measured([*command, str(keep or work), *rest]))
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def official_python(folder: Path) -> Path | None:
    """The Python of an environment with the official parser; None where it cannot be had."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    known = subprocess.run([python, "-c", "import mlperf_logging"], capture_output=True)  # noqa: S603
    if known.returncode:
        command = [python, "-m", "pip", "install", "--quiet", "mlperf-logging"]
        if subprocess.run(command).returncode:  # noqa: S603
            return None
    return python


def of_round(source: str, round_id: str, repeat: int, official: Path | None) -> Figures:
    """Every figure of one round."""
    figures: Figures = {
        "scan": step("scan", source, round_id, repeat=repeat),
        "ingest": step("ingest", source, round_id, repeat=repeat),
        "reingest": step("reingest", source, round_id),
        "growth_1x": step("growth", source, round_id, "1"),
        "growth_4x": step("growth", source, round_id, "4"),
    }
    with tempfile.TemporaryDirectory(prefix="bench-") as work:
        folder = Path(work)
        step("extract", source, round_id, keep=folder)
        figures["reader"] = step("reader", source, round_id, repeat=repeat, keep=folder)
        if official is not None and round_id >= "v0.6":
            command = [str(official), str(HERE / "official.py"), work, f"{round_id[1:]}.0"]
            figures["official"] = measured(command)
    return figures


def of_analysis(repeat: int) -> Figures:
    """Warehouse, questions, start."""
    figures: Figures = {"analyze_without": step("analyze", "", "", "none")}
    with tempfile.TemporaryDirectory(prefix="bench-") as work:
        figures["analyze"] = step("analyze", "", "", keep=Path(work))
        figures["query"] = step("query", "", "", repeat=repeat, keep=Path(work))
        command = [sys.executable, "-m", "flows.cli", "top", "-b", "resnet"]
        is_cpu = os.environ.get("BENCH_CLOCK") == "cpu"
        starts = [measured(command, GPURANK_HOME=work) for _ in range(7)]
        name = "cpu_s" if is_cpu else "process_s"
        figures["top"] = {"seconds": statistics.median(one[name] for one in starts)}
    return figures


def speed(figures: Figures) -> float:
    """MB of logs a second."""
    return float(figures["bytes"] / figures["seconds"] / 1e6)


def ratios(found: dict[str, Figures]) -> Figures:
    """What is compared with what, a round."""
    result: Figures = {}
    for round_id, figures in found.items():
        ingest, reader, one, four = (
            figures[name] for name in ("ingest", "reader", "growth_1x", "growth_4x")
        )
        row = {
            "ingest_over_scan": ingest["seconds"] / figures["scan"]["seconds"],
            "growth_time": four["seconds"] / one["seconds"],
            "growth_memory": four["peak_mb"] / one["peak_mb"],
        }
        if "official" in figures:
            row["reader_over_official"] = speed(reader) / speed(figures["official"])
            row["ingest_over_official"] = speed(ingest) / speed(figures["official"])
        result[round_id] = row
    return result


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("--source", required=True, help="mirror folder of the rounds' archives")
    parser.add_argument("--rounds", default="v3.0,v4.1")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--official", type=Path, default=Path("data/bench/official"))
    parser.add_argument("--output", type=Path, help="JSON file for all figures")
    parser.add_argument("--no-analysis", action="store_true")
    args = parser.parse_args()
    python = official_python(args.official.absolute())
    if python is None:
        print("the official parser cannot be installed here; left out", file=sys.stderr)
    found = {}
    for name in args.rounds.split(","):
        print(f"measuring {name}", file=sys.stderr)
        found[name] = of_round(str(Path(args.source).absolute()), name, args.repeat, python)
    document: Figures = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "rounds": found}
    document["ratios"] = ratios(found)
    if not args.no_analysis:
        document["analysis"] = of_analysis(args.repeat)
    text = json.dumps(document, indent=1)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
