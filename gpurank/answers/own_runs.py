"""Reads and scores a user's own run logs by the rules of published ones.

expectations/raw/run.yml, warehouse/30_metrics/run_set.sql and score.sql describe each step. One
rule is stricter: a set that lacks runs has no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from gpurank.declared.rounds import BenchmarkRule, declared_rounds
from gpurank.errors import Exit, GpurankError
from gpurank.logs.convergence_scaling import read_scaling
from gpurank.logs.layout import run_number
from gpurank.logs.log_view import LogView
from gpurank.logs.records import Records, read_log, refusal_reason
from gpurank.logs.runs import run_facts
from gpurank.logs.source_files import FILE_LIMIT_B

_SCALING = "scaling.json"
_MAX_FILES = 10_000
_MAX_TOTAL_B = 4 << 30
_RESULT_LOG = re.compile(r"result_.*\.txt")


class OwnRunsError(GpurankError, ValueError):
    """Logs that are not one result; the message says which and what to do."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class OwnRun:
    """One log. ``run_min`` is in minutes, None without a completed attempt.

    ``is_kept``: the olympic mean uses it. ``copy_of`` names another log of the same run.
    """

    file: str
    run_min: float | None
    is_converged: bool
    convergence_basis: str
    quality: float | None
    target: float | None
    is_kept: bool = False
    copy_of: str | None = None


@dataclass(frozen=True, slots=True)
class OwnResult:
    """A set of runs with its score by the rule of one round, or why there is none."""

    benchmark: str
    round_id: str
    runs: tuple[OwnRun, ...]
    ignored: tuple[str, ...]
    required_run_count: int
    drop_count: int
    score_min: float | None
    score_missing_reason: str | None
    unscaled_min: float | None
    scaling_factor: float
    notes: tuple[str, ...]


def read_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Reads the visible files below a folder (or the one file): name and bytes, by path.

    Raises:
        OwnRunsError: a file cannot be read, or they are too many or too large for run logs.
    """
    if not folder.exists():
        raise OwnRunsError(f"{folder} does not exist; give a folder of run logs")
    entries = folder.rglob("*") if folder.is_dir() else iter([folder])
    base = folder if folder.is_dir() else folder.parent
    paths, total_b = sorted(islice(entries, _MAX_FILES + 1)), 0
    for path in paths:
        name = path.relative_to(base)
        try:
            if any(part.startswith(".") for part in name.parts) or not path.is_file():
                continue
            size_b = path.stat().st_size
            total_b += size_b
            if size_b > FILE_LIMIT_B or total_b > _MAX_TOTAL_B or len(paths) > _MAX_FILES:
                raise OwnRunsError(
                    f"{path}: more than any runs' logs hold; give the folder of the runs alone"
                )
            yield name.as_posix(), path.read_bytes()
        except OSError as error:
            raise OwnRunsError(f"{path} cannot be read: {error.strerror}") from None


def read_logs(
    files: Iterable[tuple[str, bytes]],
) -> tuple[dict[str, Records], list[str], bytes | None]:
    """Returns logs by name, the names of other files, and the content of scaling.json.

    If any file is called result_*.txt, as in a submission, these are the logs, and a log without a
    run_start is a failed run; else every file with records is a log.

    Raises:
        OwnRunsError: two scaling.json differ, so these are several results; or a file holds more
            records than any log.
    """
    logs: dict[str, Records] = {}
    ignored: list[str] = []
    scaling: bytes | None = None
    for name, data in files:
        if name.rpartition("/")[2] == _SCALING:
            if scaling is not None and data != scaling:
                raise OwnRunsError(
                    f"there are several {_SCALING}, which differ; give the folder of one result"
                )
            scaling = data
            continue
        if reason := refusal_reason(data):
            raise OwnRunsError(f"{name} was not read: {reason}")
        records = read_log(data)
        if len(records) or _is_result_log(name):
            logs[name] = records
        else:
            ignored.append(name)
    if any(map(_is_result_log, logs)):
        ignored += [name for name in logs if not _is_result_log(name)]
        logs = {name: records for name, records in logs.items() if _is_result_log(name)}
    return logs, sorted(ignored), scaling


def _is_result_log(name: str) -> bool:
    return _RESULT_LOG.fullmatch(name.rpartition("/")[2]) is not None


def find_benchmark(logs: dict[str, Records], given: str | None) -> str:
    """Returns the canonical benchmark that the logs name, or the given one if they name none.

    Raises:
        OwnRunsError: there are no logs, or they name several benchmarks, none, or another one.
    """
    if not logs:
        raise OwnRunsError(
            "no file holds records of a run (:::MLLOG lines); give the folder of run logs"
        )
    reported = [LogView(records).benchmark() for records in logs.values()]
    benchmarks = {canonical(name) for name in reported if name}
    if len(benchmarks) > 1:
        raise OwnRunsError(
            f"the logs are of several benchmarks ({', '.join(sorted(benchmarks))}); "
            "give the folder of one"
        )
    if given is not None and benchmarks and benchmarks != {given}:
        raise OwnRunsError(f"the logs are of {benchmarks.pop()}, not of {given}")
    if given is None and not benchmarks:
        raise OwnRunsError("the logs do not say which benchmark they are of; give --benchmark")
    return given or benchmarks.pop()


def canonical(name: str) -> str:
    """Returns the canonical benchmark that a name means in the newest round that has it."""
    rounds = declared_rounds()
    for round_id in reversed(rounds.declared):
        benchmark = rounds.canonical_benchmark(round_id, name)
        if benchmark in rounds.document["benchmarks"]:
            return benchmark
    return name


def score_runs(
    logs: dict[str, Records],
    ignored: Sequence[str],
    scaling: bytes | None,
    benchmark: str,
    round_id: str,
) -> OwnResult:
    """Scores a set of logs by the rule of its benchmark in a round.

    Raises:
        OwnRunsError: the benchmark has no rule.
    """
    rule = declared_rounds().rule(round_id, benchmark)
    if rule.runs_required is None:
        raise OwnRunsError(f"there is no rule by which {benchmark} is scored")
    runs = _runs(logs, rule)
    order = _sort_by_time(runs, rule)
    last = len(order) - rule.drop
    kept = {run.file for run in order[rule.drop : last]} if last > rule.drop else set()
    reason = _missing_reason(order, kept, rule)
    times = [run.run_min for run in order if run.file in kept and run.run_min is not None]
    mean = None if reason else sum(times) / len(times)
    factor, notes = _scaling(scaling)
    if mean is not None and factor is None:
        reason = "unreadable_scaling_factor"
    return OwnResult(
        benchmark=benchmark,
        round_id=round_id,
        runs=tuple(replace(run, is_kept=run.file in kept and mean is not None) for run in runs),
        ignored=tuple(ignored),
        required_run_count=rule.runs_required,
        drop_count=rule.drop,
        score_min=None if mean is None or factor is None else mean * factor,
        score_missing_reason=reason,
        unscaled_min=mean,
        scaling_factor=factor or 1.0,
        notes=notes,
    )


def _runs(logs: dict[str, Records], rule: BenchmarkRule) -> list[OwnRun]:
    runs: list[OwnRun] = []
    first: dict[str, str] = {}
    for name in sorted(logs, key=_run_order):
        facts = run_facts(logs[name], rule)
        fingerprint = facts.fingerprint
        runs.append(
            OwnRun(
                file=name,
                run_min=None if facts.duration_ms is None else facts.duration_ms / 60_000,
                is_converged=facts.is_converged,
                convergence_basis=facts.convergence_basis,
                quality=facts.quality,
                target=facts.target_reported or rule.target,
                copy_of=first.get(fingerprint) if fingerprint else None,
            )
        )
        if fingerprint:
            first.setdefault(fingerprint, name)
    return runs


def _run_order(name: str) -> tuple[bool, int, str]:
    """Sorts numbered runs first, by number."""
    number = run_number(name)
    return number is None, number or 0, name


def _sort_by_time(runs: Sequence[OwnRun], rule: BenchmarkRule) -> list[OwnRun]:
    """Returns the runs of the set, fastest first and those without a usable time last."""
    distinct = [run for run in runs if run.copy_of is None]
    if rule.take_first_converged:
        distinct = [run for run in distinct if run.is_converged][: rule.runs_required]
    return sorted(distinct, key=lambda run: (not _usable(run), run.run_min or 0.0, run.file))


def _usable(run: OwnRun) -> bool:
    return run.is_converged and run.run_min is not None


def _missing_reason(order: Sequence[OwnRun], kept: set[str], rule: BenchmarkRule) -> str | None:
    """Returns why the runs have no score; None if they have one."""
    failed = sum(not _usable(run) for run in order)
    needed = rule.runs_required or 0
    if len(order) < needed:
        return f"too_few_runs: {len(order)} of {needed}"
    if failed == len(order):
        return "no_converged_run_with_a_time"
    if failed > rule.max_nonconverged:
        return f"too_many_nonconverged_runs: {failed}, {rule.max_nonconverged} allowed"
    if not kept:
        return "too_few_runs"
    if any(run.file in kept and not _usable(run) for run in order):
        return f"too_many_nonconverged_runs: {failed} with {rule.drop} dropped"
    return None


def _scaling(data: bytes | None) -> tuple[float | None, tuple[str, ...]]:
    """Returns the convergence scaling factor, None if it cannot be read, and notes on it."""
    if data is None:
        return 1.0, (
            "No convergence scaling: if these runs converge faster than the reference, "
            "a review would scale the score up.",
        )
    factor, problem = read_scaling(data)
    return factor, (f"{_SCALING}: {problem[2]}",) if problem else ()
