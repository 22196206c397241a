"""Run the benchmarks: ``python -m tools.benchmarks.run --source MIRROR [--rounds v3.0,v4.1]``.

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

from tools.benchmarks.memory import Peak

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
        peak = Peak(process.pid)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        family_b = peak.stop()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    lines = text.strip().splitlines()
    found = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {}
    return {
        **found,
        "process_s": time.perf_counter() - start,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
        "family_peak_mb": family_b / 1e6,
        "family_cpu_s": peak.cpu_s,
    }


def step(name: str, *args: str, repeat: int = 1, keep: Path | None = None) -> Figures:
    """Medians of a step over fresh processes, each with an empty folder to work in."""
    found = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="bench-") as work:
            source, round_id, *rest = args
            command = [sys.executable, "-m", "tools.benchmarks.steps", name, source, round_id]
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


def of_round(
    source: str, round_id: str, repeat: int, official: Path | None, with_summarizer: bool
) -> Figures:
    """Every figure of one round."""
    figures: Figures = {
        "scan": step("scan", source, round_id, repeat=repeat),
        "ingest": step("ingest", source, round_id, repeat=repeat),
        "reingest": step("reingest", source, round_id),
        "scores": step("scores", source, round_id, repeat=repeat),
        "growth_1x": step("growth", source, round_id, "1"),
        "growth_10x": step("growth", source, round_id, "10"),
    }
    with tempfile.TemporaryDirectory(prefix="bench-") as work:
        folder = Path(work)
        step("extract", source, round_id, keep=folder)
        figures["reader"] = step("reader", source, round_id, repeat=repeat, keep=folder)
        if official is not None and round_id >= "v0.6":
            figures["official"] = measured(official_command(official, "parser", work, round_id))
    if official is not None and with_summarizer and round_id >= "v0.6":
        with tempfile.TemporaryDirectory(prefix="bench-") as work:
            figures["summarizer"] = step("unpack", source, round_id, keep=Path(work))
            command = official_command(official, "summarizer", work, round_id)
            figures["summarizer"] |= measured(command)
    return figures


def official_command(python: Path, tool: str, work: str, round_id: str) -> list[str]:
    """How one of the official tools is run on a folder."""
    return [str(python), str(HERE / "official.py"), tool, work, f"{round_id[1:]}.0"]


def of_all(source: str) -> Figures:
    """Every round of the source at once; and the same again, which is orchestration alone."""
    with tempfile.TemporaryDirectory(prefix="bench-") as work:
        first = step("all_rounds", source, "all", keep=Path(work))
        again = step("all_rounds", source, "all", keep=Path(work))
    return {"first": first, "orchestration": again}


def of_analysis(repeat: int) -> Figures:
    """Warehouse, questions, start."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as work:
        figures["adopt"] = step("adopt", "", "", keep=Path(work))
        for name, bootstraps in (("analyze", "full"), ("analyze_without", "0")):
            for kind in ("analyze", "analyze_flow"):
                key = name + kind.removeprefix("analyze")
                figures[key] = step(kind, "", "", bootstraps, repeat=repeat, keep=Path(work))
        figures["query"] = step("query", "", "", repeat=repeat, keep=Path(work))
        command = [sys.executable, "-m", "gpurank.cli.main", "top", "-b", "resnet"]
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
        ingest, reader, one, ten = (
            figures[name] for name in ("ingest", "reader", "growth_1x", "growth_10x")
        )
        row = {
            "ingest_over_scan": ingest["seconds"] / figures["scan"]["seconds"],
            "growth_time": ten["seconds"] / one["seconds"],
            "growth_memory": ten["peak_mb"] / one["peak_mb"],
        }
        if "official" in figures:
            row["reader_over_official"] = speed(reader) / speed(figures["official"])
            row["ingest_over_official"] = speed(ingest) / speed(figures["official"])
        if "summarizer" in figures:
            summarizer_s = figures["summarizer"]["seconds"]
            row["ingest_over_summarizer"] = summarizer_s / ingest["seconds"]
            row["scores_over_summarizer"] = summarizer_s / figures["scores"]["seconds"]
        result[round_id] = row
    return result


def main() -> None:
    """Measure, print, and write where asked."""
    parser = argparse.ArgumentParser(prog="tools.benchmarks.run", description=__doc__)
    parser.add_argument("--source", required=True, help="mirror folder of the rounds' archives")
    parser.add_argument("--rounds", default="v3.0,v4.1")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--official", type=Path, default=Path("data/bench/official"))
    parser.add_argument("--output", type=Path, help="JSON file for all figures")
    parser.add_argument("--no-analysis", action="store_true")
    parser.add_argument("--no-summarizer", action="store_true", help="it takes minutes a round")
    parser.add_argument(
        "--no-all", action="store_true", help="not all rounds of the source at once"
    )
    args = parser.parse_args()
    python = official_python(args.official.absolute())
    if python is None:
        print("the official parser cannot be installed here; left out", file=sys.stderr)
    found = {}
    source = str(Path(args.source).absolute())
    for name in args.rounds.split(","):
        print(f"measuring {name}", file=sys.stderr)
        found[name] = of_round(source, name, args.repeat, python, not args.no_summarizer)
    document: Figures = {"cores": os.cpu_count(), "load": os.getloadavg()[0], "rounds": found}
    document["ratios"] = ratios(found)
    if not args.no_all:
        document["all_rounds"] = [of_all(source) for _ in range(args.repeat)]
    if not args.no_analysis:
        document["analysis"] = of_analysis(args.repeat)
    text = json.dumps(document, indent=1)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
