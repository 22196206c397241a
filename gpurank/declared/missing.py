"""Lines that a round needs in the declared files and that are not there, ready to paste.

A round with an undeclared benchmark, unit or target still ingests. What the rules say of it cannot
be read from its logs, so whatever follows from logs alone is marked as such: a person compares it
with the rules before it is pasted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpurank.declared.rounds import BenchmarkRule, Rounds, round_order

#: Runs of one round as :class:`SeenRun` has them, for DuckDB; the parameter is the round.
SEEN_RUNS_SQL = """
    SELECT
        folder.folder_id, folder.benchmark_folder, run.is_converged, run.quality,
        run.target_reported, run.samples_count IS NOT NULL, run.epoch_num IS NOT NULL,
        run.step_num IS NOT NULL
    FROM raw.run AS run
    JOIN raw.folder AS folder USING (round_id, folder_id)
    WHERE run.round_id = ? AND folder.quarantine_reason IS NULL
    ORDER BY run.path
"""
#: Benchmarks with a line in warehouse/lookups/samples.csv for one round, for DuckDB.
COUNTED_BENCHMARKS_SQL = """
    SELECT DISTINCT samples.benchmark
    FROM lookup.samples AS samples
    JOIN lookup.round AS round
        ON round.round_number BETWEEN samples.first_number AND samples.last_number
    WHERE round.round_id = ?
"""


@dataclass(frozen=True, slots=True)
class SeenRun:
    """What one result log of a round says about the rule of its benchmark."""

    folder_id: str
    benchmark_folder: str
    is_converged: bool
    quality: float | None
    target_reported: float | None
    has_samples_count: bool = False
    has_epoch_num: bool = False
    has_step_num: bool = False


@dataclass(frozen=True, slots=True)
class MissingLine:
    """One line that a declared file lacks.

    ``path`` is the file, ``place`` where in it the line belongs, ``line`` what to paste, ``check``
    what a person must compare with the rules first (empty where nothing).
    """

    path: str
    place: str
    line: str
    check: str = ""


def missing_lines(
    round_id: str, runs: Iterable[SeenRun], counted: Iterable[str], rounds: Rounds
) -> tuple[MissingLine, ...]:
    """Returns the lines that a round needs in the declared files and that are not there.

    Args:
        round_id: the round.
        runs: its result logs.
        counted: benchmarks for which samples.csv says, in this round, what a run's counter counts.
        rounds: the declared rounds.

    Returns:
        The missing lines: of the round itself, then benchmark by benchmark.
    """
    by_folder: dict[str, list[SeenRun]] = {}
    for run in runs:
        by_folder.setdefault(run.benchmark_folder, []).append(run)
    rules = {folder: rounds.rule(round_id, folder) for folder in sorted(by_folder)}
    lines = _round_lines(round_id, rules.values(), rounds)
    is_counted = set(counted)
    for folder, rule in rules.items():
        lines += _benchmark_lines(round_id, by_folder[folder], rule, rounds)
        if rule.benchmark not in is_counted:
            lines.append(_samples_line(round_id, by_folder[folder], rule))
    return tuple(dict.fromkeys(lines))


def missing_declarations(
    round_id: str, runs: Iterable[SeenRun], counted: Iterable[str], rounds: Rounds
) -> str:
    """Returns :func:`missing_lines` as text to paste; empty where nothing is missing."""
    return paste_text(missing_lines(round_id, runs, counted, rounds))


def paste_text(lines: Iterable[MissingLine]) -> str:
    """Returns missing lines as text to paste; empty where there are none."""
    blocks: dict[tuple[str, str], list[str]] = {}
    for missing in lines:
        block = blocks.setdefault((missing.path, missing.place), [])
        if missing.check:
            block.append(f"# check first: {missing.check}")
        block.append(missing.line)
    return "\n\n".join(
        "\n".join([f"# {path}, {place}:", *block]) for (path, place), block in blocks.items()
    )


def _round_lines(
    round_id: str, rules: Iterable[BenchmarkRule], rounds: Rounds
) -> list[MissingLine]:
    seen = sorted({rule.benchmark for rule in rules})
    declared = rounds.get(round_id)
    if not declared.is_declared:
        day = rounds.expected_on(round_id)
        line = f"  {round_id}: {{published_on: {day}, benchmarks: [{', '.join(seen)}]}}"
        check = "the date of publication is an estimate"
        return [MissingLine("warehouse/rounds.yml", "under rounds", line, check)]
    absent = [name for name in seen if name not in declared.benchmarks]
    if not absent:
        return []
    every = ", ".join(sorted({*declared.benchmarks, *absent}))
    place = f"in the entry of {round_id} under rounds"
    return [
        MissingLine(
            "warehouse/rounds.yml", place, f"benchmarks: [{every}]", f"adds {', '.join(absent)}"
        )
    ]


def _benchmark_lines(
    round_id: str, runs: Sequence[SeenRun], rule: BenchmarkRule, rounds: Rounds
) -> list[MissingLine]:
    """Returns a benchmark's undeclared rule, target and span, as its logs suggest them."""
    path, lines = "warehouse/rounds.yml", []
    target = _only_target(runs)
    direction = _direction(runs, target)
    if rule.basis == "unknown":
        per_folder = Counter(run.folder_id for run in runs)
        usual_count = Counter(per_folder.values()).most_common(1)[0][0]
        values = [f"runs: {usual_count}", "drop: 1", "max_nonconverged: 1"]
        values += [f"direction: {direction}"] if direction else []
        values += [f"target: {target:g}"] if target is not None else []
        unknown = ["direction"] * (direction is None) + ["target"] * (target is None)
        check = "runs, drop and max_nonconverged are those of the logs and the usual ones"
        check += f"; the logs do not state {' and '.join(unknown)}" if unknown else ""
        line = f"  {rule.benchmark}: {{{', '.join(values)}}}"
        lines.append(MissingLine(path, "under benchmarks", line, check))
    elif rule.target is None:
        value = f"target: {target:g}" if target is not None else "target: ?"
        check = "" if target is not None else "the logs do not state it"
        place = f"in the entry of {rule.benchmark} under benchmarks"
        lines.append(MissingLine(path, place, value, check or "the target that the logs state"))
    if not _has_span(round_id, rule.benchmark, rounds):
        line = f"  - {{benchmark: {rule.benchmark}, first: {round_id}, last: {round_id}}}"
        check = "or extend the benchmark's last span, where the rules let results be compared"
        lines.append(MissingLine(path, "under comparable_spans", line, check))
    return lines


def _samples_line(round_id: str, runs: Sequence[SeenRun], rule: BenchmarkRule) -> MissingLine:
    counter = _counter(runs)
    values = {
        "samples_count": f"{counter},0,,0,none,1,,,true",
        "step_num": f"{counter},0,,0,global_batch_size,1,,,true",
        "epoch_num": f"{counter},0,,0,train_samples,1,,,true",
        "none": "none,,,0,none,,,,false",
    }[counter]
    check = {
        "samples_count": "that the logs count samples",
        "step_num": "that a step is one global batch",
        "epoch_num": "that train_samples is the size of an epoch",
        "none": "the logs state no counter",
    }[counter]
    line = f"{rule.benchmark},{round_id},,1,{values},"
    return MissingLine("warehouse/lookups/samples.csv", "as a new row", line, check)


def _counter(runs: Sequence[SeenRun]) -> str:
    """Returns the counter that most of the runs state; ``none`` where none does."""
    counts = {
        "samples_count": sum(run.has_samples_count for run in runs),
        "epoch_num": sum(run.has_epoch_num for run in runs),
        "step_num": sum(run.has_step_num for run in runs),
    }
    counter = max(counts, key=lambda name: counts[name])
    return counter if counts[counter] else "none"


def _only_target(runs: Sequence[SeenRun]) -> float | None:
    targets = {run.target_reported for run in runs} - {None}
    return targets.pop() if len(targets) == 1 else None


def _direction(runs: Sequence[SeenRun], target: float | None) -> str | None:
    """Returns which side of the target the converged runs end on; None where not all on one."""
    if target is None:
        return None
    qualities = [run.quality for run in runs if run.is_converged and run.quality is not None]
    if not qualities or all(quality == target for quality in qualities):
        return None
    if all(quality >= target for quality in qualities):
        return "higher"
    return "lower" if all(quality <= target for quality in qualities) else None


def _has_span(round_id: str, benchmark: str, rounds: Rounds) -> bool:
    order = round_order(round_id)
    return any(
        span["benchmark"] == benchmark
        and round_order(span["first"]) <= order <= round_order(span["last"])
        for span in rounds.document["comparable_spans"]
    )
