"""Facts of one run from its log.

The run time is run_stop - run_start of the one completed attempt (MLPerf® Training rules,
section "Run results"); everything else in the log describes it. Records are ordered by their own
clock, never by their lines.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpurank.declared.rounds import BenchmarkRule
from gpurank.logs.evaluations import (
    Decision,
    Evaluation,
    decide,
    quality_json,
    quantity,
    read_evaluations,
)
from gpurank.logs.log_view import LogView, Stamp
from gpurank.logs.records import Records
from gpurank.logs.timestamps import clock_doubt

_LONGEST_MS = 366 * 24 * 3600 * 1000.0
_SUCCESS = frozenset({"success", "succuss", "succeeded", "true"})
_FAILURE = frozenset({"abort", "aborted", "fail", "failed", "failure", "false", "error"})


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The columns of raw.run without path and folder; expectations/raw/run.yml documents them."""

    dialect: str | None
    record_count: int
    undecodable_count: int
    attempt_count: int
    completed_attempt_count: int
    start_ms: float | None
    start_line: int | None
    stop_ms: float | None
    stop_line: int | None
    duration_ms: float | None
    duration_source: str | None
    status_reported: str | None
    is_converged: bool
    convergence_basis: str
    quality: float | None
    quality_json: str | None
    quality_line: int | None
    target_reported: float | None
    epoch_num: float | None
    first_epoch_num: float | None
    samples_count: float | None
    step_num: float | None
    global_batch_size: float | None
    train_samples: float | None
    eval_samples: float | None
    input_size: float | None
    gradient_accumulation_steps: float | None
    max_sequence_length: float | None
    seed: str | None
    logged_throughput_per_s: float | None
    logged_step_time_s: float | None
    benchmark_reported: str | None
    division_reported: str | None
    status_log_reported: str | None
    submitter_reported: str | None
    platform_reported: str | None
    fingerprint: str | None
    is_below_target: bool
    """Filed as a success although the deciding evaluation misses the target."""
    clock_doubts: tuple[tuple[int, str], ...]
    """(line, what is odd) of a run_start or run_stop whose time the records around it deny or do
    not confirm."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    start: Stamp
    stops: tuple[Stamp, ...]
    until_ms: float


@dataclass(frozen=True, slots=True)
class _Outcome:
    attempt: _Attempt | None
    duration_ms: float | None
    duration_source: str | None
    status: str | None
    verdict: bool | None
    """True or False as filed; None where the target decides."""
    basis: str


def run_facts(records: Records, rule: BenchmarkRule) -> RunFacts:
    """Returns the facts of the run that a result log holds.

    Args:
        records: the log's records.
        rule: how the benchmark is scored in the log's round.
    """
    log = LogView(records)
    attempts = _attempts(log)
    outcome = _outcome(log, attempts, rule)
    attempt = outcome.attempt
    run_evaluations = [
        evaluation
        for evaluation in read_evaluations(records, log.at("eval_accuracy"))
        if len(attempts) < 2 or attempt is None or _is_within(evaluation.time_ms, attempt)
    ]
    target = log.number("target_accuracy", "eval_target")
    decision = decide(run_evaluations, rule, target)
    is_converged, basis = _verdict(outcome, decision.is_passing)
    quality_text = quality_json(records, decision)
    return RunFacts(
        dialect=records.dialect[0] if records.dialect else None,
        record_count=len(records),
        undecodable_count=records.is_decodable.count(False),
        attempt_count=len(attempts),
        completed_attempt_count=sum(bool(attempt.stops) for attempt in attempts),
        duration_ms=outcome.duration_ms,
        duration_source=outcome.duration_source,
        status_reported=outcome.status,
        is_converged=is_converged,
        convergence_basis=basis,
        quality_json=quality_text,
        target_reported=target,
        fingerprint=_fingerprint(attempt, outcome, quality_text),
        is_below_target=outcome.verdict is True and decision.is_passing is False,
        clock_doubts=_clock_doubts(records, attempt),
        **_stamps(records, attempt),
        **_deciding_evaluation(records, decision, run_evaluations),
        **_reported(log),
    )


def _stamps(records: Records, attempt: _Attempt | None) -> dict[str, Any]:
    """Returns start and stop of the attempt that counts, with their lines."""
    start = attempt.start if attempt else None
    stop = attempt.stops[0] if attempt and attempt.stops else None
    return {
        "start_ms": start.time_ms if start else None,
        "start_line": records.line_number[start.record] if start else None,
        "stop_ms": stop.time_ms if stop else None,
        "stop_line": records.line_number[stop.record] if stop else None,
    }


def _clock_doubts(records: Records, attempt: _Attempt | None) -> tuple[tuple[int, str], ...]:
    stamps = [attempt.start, *attempt.stops[:1]] if attempt else []
    return tuple(
        (records.line_number[stamp.record], doubt)
        for stamp in stamps
        if (doubt := clock_doubt(records, stamp.record)) is not None
    )


def _deciding_evaluation(
    records: Records, decision: Decision, run_evaluations: Sequence[Evaluation]
) -> dict[str, Any]:
    """Returns value, line and counters of the evaluation that decides the run."""
    deciding = decision.evaluation
    counters = deciding.counters if deciding else {}
    epochs = [
        evaluation.counters["epoch_num"]
        for evaluation in run_evaluations
        if "epoch_num" in evaluation.counters
    ]
    return {
        "quality": deciding.value if deciding else None,
        "quality_line": records.line_number[deciding.record] if deciding else None,
        "epoch_num": counters.get("epoch_num"),
        "first_epoch_num": min(epochs, default=None),
        "samples_count": counters.get("samples_count"),
        "step_num": counters.get("step_num"),
    }


def _reported(log: LogView) -> dict[str, Any]:
    """Returns what the log says about itself."""
    throughput, step_time = log.logged_speed()
    return {
        "global_batch_size": log.number("global_batch_size"),
        "train_samples": log.number("train_samples"),
        "eval_samples": log.number("eval_samples"),
        "input_size": log.number("input_size", "preproc_num_train_examples"),
        "gradient_accumulation_steps": log.number("gradient_accumulation_steps"),
        "max_sequence_length": log.number("max_sequence_length"),
        "seed": log.text("seed", "run_set_random_seed"),
        "logged_throughput_per_s": throughput,
        "logged_step_time_s": step_time,
        "benchmark_reported": log.benchmark(),
        "division_reported": log.text("submission_division"),
        "status_log_reported": log.text("submission_status"),
        "submitter_reported": log.text("submission_org"),
        "platform_reported": log.text("submission_platform"),
    }


def _attempts(log: LogView) -> list[_Attempt]:
    """Returns the attempts by time: a run_start and the run_stops before the next run_start."""
    starts, stops = log.stamps("run_start"), log.stamps("run_stop")
    ends = [*(start.time_ms for start in starts[1:]), math.inf]
    return [
        _Attempt(
            start,
            tuple(stop for stop in stops if start.time_ms < stop.time_ms <= end),
            end,
        )
        for start, end in zip(starts, ends, strict=False)
    ]


def _is_within(time_ms: float | None, attempt: _Attempt) -> bool:
    return time_ms is not None and attempt.start.time_ms <= time_ms < attempt.until_ms


def _outcome(log: LogView, attempts: Sequence[_Attempt], rule: BenchmarkRule) -> _Outcome:
    completed = [attempt for attempt in attempts if attempt.stops]
    if not len(log.records):
        return _Outcome(None, None, None, None, False, "no_records")
    if not attempts:
        return _Outcome(None, None, None, None, False, "no_run_start")
    if len(completed) > 1:
        return _Outcome(None, None, None, None, False, "multiple_attempts")
    elapsed = _elapsed_ms(log) if rule.is_timed_by_elapsed else None
    if not completed:
        if len(attempts) == 1 and elapsed is not None:
            return _Outcome(attempts[0], elapsed, "elapsed", None, None, "elapsed")
        basis = "clock" if log.stamps("run_stop") else "no_run_stop"
        only_attempt = attempts[0] if len(attempts) == 1 else None
        return _Outcome(only_attempt, None, None, None, False, basis)
    attempt = completed[0]
    duration, source = attempt.stops[0].time_ms - attempt.start.time_ms, "run_stop"
    if rule.is_timed_by_elapsed:
        duration, source = elapsed or 0.0, "elapsed"
    status, verdict, basis = _status(log, attempt)
    if not 0 < duration < _LONGEST_MS:
        return _Outcome(attempt, None, None, status, False, "clock")
    if log.records.dialect[attempt.start.record] == "wallclock":
        return _Outcome(attempt, duration, source, status, False, "wallclock")
    return _Outcome(attempt, duration, source, status, verdict, basis)


def _elapsed_ms(log: LogView) -> float | None:
    """Returns the one elapsed training time that eval_result states, in ms; None if several."""
    times = {quantity(log.metadata(n).get("timestamp")) for n in log.at("eval_result")} - {None}
    elapsed = (times.pop() or 0.0) * 1000 if len(times) == 1 else 0.0
    return elapsed if 0 < elapsed < _LONGEST_MS else None


def _status(log: LogView, attempt: _Attempt) -> tuple[str | None, bool | None, str]:
    """Returns (status as filed, verdict, basis) of an attempt's run_stop records.

    The first run_stop ends the attempt; records repeated at its time must agree.
    """
    end = attempt.stops[0].time_ms
    statuses = {
        _filed_status(log, number)
        for number in log.at("run_stop")
        if log.records.time_ms[number] == end
    }
    filed = sorted((text, basis) for text, basis in statuses if text is not None)
    if not filed:
        return None, None, "target"
    verdicts = {_verdict_of(text) for text, _ in filed}
    text, basis = filed[0]
    if verdicts == {True}:
        return text, True, basis
    if verdicts == {False}:
        return text, False, "aborted"
    return text, False, "unknown_status"


def _filed_status(log: LogView, number: int) -> tuple[str | None, str]:
    status = log.metadata(number).get("status")
    if isinstance(status, str) and status.strip():
        return status, "status"
    value = log.value(number)
    if isinstance(value, dict):
        lowered = {str(name).lower(): part for name, part in value.items()}
        value = lowered.get("success", lowered.get("status"))
    if isinstance(value, bool):
        return ("true" if value else "false"), "value"
    if isinstance(value, str) and value.strip() and quantity(value) is None:
        return value, "value"
    return None, "target"


def _verdict_of(status: str) -> bool | None:
    word = status.strip().lower()
    if word in _SUCCESS:
        return True
    return False if word in _FAILURE else None


def _verdict(outcome: _Outcome, is_passing: bool | None) -> tuple[bool, str]:
    if outcome.verdict is not None:
        return outcome.verdict, outcome.basis
    if is_passing:
        return True, outcome.basis
    return False, "no_outcome" if is_passing is None else "target_missed"


def _fingerprint(
    attempt: _Attempt | None, outcome: _Outcome, quality_text: str | None
) -> str | None:
    """Returns a hash of start, end and quality, by which copies of a run are found."""
    if attempt is None or not (attempt.stops or outcome.duration_ms):
        return None
    end = attempt.stops[0].time_ms if attempt.stops else outcome.duration_ms
    text = f"{attempt.start.time_ms!r}|{end!r}|{quality_text}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
