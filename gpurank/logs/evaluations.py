"""Evaluations of a run: value, counter, and which of them decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gpurank.declared.rounds import BenchmarkRule
from gpurank.logs.dialects import finite, json_value, json_values
from gpurank.logs.records import Records

_COUNTERS = ("samples_count", "step_num", "epoch_num")
_PERCENT = re.compile(r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*%")
_PARTS = (("bbox", "segm"), ("box", "mask"))


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """One eval_accuracy record.

    ``value`` is on the log's own scale, ``second`` the mask AP where two are logged, ``record``
    the record's position in its log.
    """

    record: int
    time_ms: float | None
    value: float | None
    second: float | None
    metric: str | None
    counters: dict[str, float]


@dataclass(frozen=True, slots=True)
class Decision:
    """The evaluation that decides a run, and whether it passes the target.

    ``is_passing`` is None where no target is known or nothing was evaluated.
    """

    evaluation: Evaluation | None
    is_passing: bool | None


def read_evaluations(records: Records, numbers: Sequence[int]) -> list[Evaluation]:
    """Returns the evaluations at ``numbers``, the positions of a log's eval_accuracy records."""
    evaluations = []
    values = json_values([records.value[number] for number in numbers])
    metadatas = json_values([records.metadata[number] for number in numbers])
    for number, value, metadata in zip(numbers, values, metadatas, strict=True):
        fields = metadata if isinstance(metadata, dict) else {}
        counters = {
            name: count
            for name in _COUNTERS
            if name in fields and (count := quantity(fields[name])) is not None
        }
        if isinstance(value, dict) and (epoch := quantity(value.get("epoch"))) is not None:
            counters.setdefault("epoch_num", epoch)
        # Nearly all values are a plain number.
        first, second = (finite(value), None) if value.__class__ is float else two_parts(value)
        metric = fields.get("metric")
        evaluations.append(
            Evaluation(
                number,
                records.time_ms[number],
                first,
                second,
                metric if isinstance(metric, str) else None,
                counters,
            )
        )
    return evaluations


def quantity(value: object) -> float | None:
    """Returns a finite number, also from text or a percentage (12% is 0.12); else None."""
    if not isinstance(value, str):
        return finite(value)
    match = _PERCENT.fullmatch(value.strip())
    try:
        number = float(match[1]) / 100 if match else float(value.replace("_", "x"))
    except ValueError:
        return None
    return finite(number)


def single_valued(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns a JSON object of its pairs; a key filed twice with different values is null."""
    values = dict(pairs)
    return values | dict.fromkeys(key for key, value in pairs if values[key] != value)


def two_parts(value: object, depth: int = 0) -> tuple[float | None, float | None]:
    """Returns the number, or the two numbers (box and mask AP), that an evaluation logged."""
    if depth > 2:
        return None, None
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return two_parts(json_value(value.encode()), depth + 1)
    if isinstance(value, list):
        if 1 <= len(value) <= 2 and not any(isinstance(part, list | dict) for part in value):
            return quantity(value[0]), quantity(value[1]) if len(value) == 2 else None
        return None, None
    if isinstance(value, dict):
        lowered = {str(name).lower(): part for name, part in value.items()}
        for first, second in _PARTS:
            if first in lowered or second in lowered:
                return quantity(lowered.get(first)), quantity(lowered.get(second))
        for name in ("value", "accuracy"):
            if name in lowered:
                return two_parts(lowered[name], depth + 1)
        return two_parts(next(iter(value.values())), depth + 1) if len(value) == 1 else (None, None)
    return quantity(value), None


def decide(
    evaluations: Sequence[Evaluation], rule: BenchmarkRule, target: float | None
) -> Decision:
    """Returns the evaluation that decides: the last one by counter, then by time.

    Where two series must pass (``rule.second_metric``), the first point at which both do; when
    there is none, the last point. ``target`` is what the log itself names, used where the rule
    has none.
    """
    if rule.second_metric is not None and any(e.metric is not None for e in evaluations):
        return _decide_two_series(evaluations, rule)
    usable = [evaluation for evaluation in evaluations if evaluation.value is not None]
    if not usable:
        return Decision(None, None)
    last = max(_with_progress(usable), key=lambda pair: pair[0])[1]
    return Decision(last, _passes(last, rule, target))


def _with_progress(
    evaluations: Sequence[Evaluation],
) -> list[tuple[tuple[float, ...], Evaluation]]:
    """Returns each evaluation behind a sort key of its progress: counter, time, then its values.

    The counter is the one that most of the evaluations have.
    """
    counter = max(_COUNTERS, key=lambda name: sum(name in e.counters for e in evaluations))
    lowest = float("-inf")
    return [
        (
            (
                evaluation.counters.get(counter, lowest),
                lowest if evaluation.time_ms is None else evaluation.time_ms,
                lowest if evaluation.value is None else evaluation.value,
                lowest if evaluation.second is None else evaluation.second,
            ),
            evaluation,
        )
        for evaluation in evaluations
    ]


def _passes(evaluation: Evaluation, rule: BenchmarkRule, target: float | None) -> bool | None:
    """Returns whether an evaluation reaches the target; None where there is nothing to compare."""
    goal = rule.target if rule.target is not None else target
    if goal is None or evaluation.value is None or rule.direction is None:
        return None
    if not _reaches(evaluation.value, goal, rule.direction):
        return False
    if rule.target_second is None or rule.second_metric is not None:
        return True
    return evaluation.second is None or _reaches(evaluation.second, rule.target_second, "higher")


def _decide_two_series(evaluations: Sequence[Evaluation], rule: BenchmarkRule) -> Decision:
    first: dict[float, Evaluation] = {}
    second: dict[float, Evaluation] = {}
    for (point, *_), evaluation in sorted(_with_progress(evaluations), key=lambda pair: pair[0]):
        if _is_metric(evaluation, rule.metric):
            first[point] = evaluation
        elif _is_metric(evaluation, rule.second_metric):
            second[point] = evaluation
    for point, evaluation in first.items():
        other = second.get(point)
        if _passes(evaluation, rule, None) and other is not None and other.value is not None:
            goal = rule.target_second
            if goal is None or _reaches(other.value, goal, "higher"):
                return Decision(evaluation, True)
    if not first:
        return Decision(None, None)
    return Decision(first[max(first)], False)


def _is_metric(evaluation: Evaluation, name: str | None) -> bool:
    metric = evaluation.metric
    return metric is not None and name is not None and metric.lower() == name.lower()


def _reaches(value: float, goal: float, direction: str) -> bool:
    return value >= goal if direction == "higher" else value <= goal


def quality_json(records: Records, decision: Decision) -> str | None:
    """Returns the deciding evaluation's value as filed, as JSON text."""
    if decision.evaluation is None:
        return None
    text = bytes(records.value[decision.evaluation.record])
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return text.decode("utf-8", "replace")
