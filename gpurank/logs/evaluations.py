"""Evaluations of a run: their value, their counter, and the one that decides."""

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
    """One eval_accuracy record. ``value`` is on the log's own scale; ``second`` the mask AP."""

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


def evaluations(records: Records, numbers: Sequence[int]) -> list[Evaluation]:
    """The evaluations among the records at ``numbers`` (positions of eval_accuracy)."""
    found = []
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
        # Nearly all are a number alone.
        first, second = (finite(value), None) if value.__class__ is float else two_parts(value)
        metric = fields.get("metric")
        found.append(
            Evaluation(
                number,
                records.time_ms[number],
                first,
                second,
                metric if isinstance(metric, str) else None,
                counters,
            )
        )
    return found


def quantity(value: object) -> float | None:
    """A finite number, also where it is written as text or in percent (then a share of 1)."""
    if not isinstance(value, str):
        return finite(value)
    match = _PERCENT.fullmatch(value.strip())
    try:
        number = float(match[1]) / 100 if match else float(value.replace("_", "x"))
    except ValueError:
        return None
    return finite(number)


def single_valued(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of its pairs; a key that is there twice with different values has none."""
    filed = dict(pairs)
    return filed | dict.fromkeys(key for key, value in pairs if filed[key] != value)


def two_parts(value: object, depth: int = 0) -> tuple[float | None, float | None]:
    """The number, or the two numbers (box and mask AP), that an evaluation logged."""
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


def decide(found: Sequence[Evaluation], rule: BenchmarkRule, target: float | None) -> Decision:
    """The evaluation that decides: the last one by counter, then by time.

    Where two series must pass (``rule.second_metric``), the first point at which both do; when
    there is none, the last point. ``target`` is what the log itself names, used where the rule
    has none.
    """
    if rule.second_metric is not None and any(one.metric is not None for one in found):
        return _decide_two_series(found, rule)
    usable = [one for one in found if one.value is not None]
    if not usable:
        return Decision(None, None)
    last = max(_ordered(usable), key=lambda pair: pair[0])[1]
    return Decision(last, _passes(last, rule, target))


def _ordered(found: Sequence[Evaluation]) -> list[tuple[tuple[float, ...], Evaluation]]:
    """Each evaluation with its place in training: counter, time, then its values."""
    names = sorted(_COUNTERS, key=lambda name: -sum(name in one.counters for one in found))
    name = names[0]
    lowest = float("-inf")
    return [
        (
            (
                one.counters.get(name, lowest),
                lowest if one.time_ms is None else one.time_ms,
                lowest if one.value is None else one.value,
                lowest if one.second is None else one.second,
            ),
            one,
        )
        for one in found
    ]


def _passes(one: Evaluation, rule: BenchmarkRule, target: float | None) -> bool | None:
    goal = rule.target if rule.target is not None else target
    if goal is None or one.value is None or rule.direction is None:
        return None
    if not _reaches(one.value, goal, rule.direction):
        return False
    if rule.target_second is None or rule.second_metric is not None:
        return True
    return one.second is None or _reaches(one.second, rule.target_second, "higher")


def _decide_two_series(found: Sequence[Evaluation], rule: BenchmarkRule) -> Decision:
    first: dict[float, Evaluation] = {}
    second: dict[float, Evaluation] = {}
    for place, one in sorted(_ordered(found), key=lambda pair: pair[0]):
        if _is_metric(one, rule.metric):
            first[place[0]] = one
        elif _is_metric(one, rule.second_metric):
            second[place[0]] = one
    for point, one in first.items():
        other = second.get(point)
        if _passes(one, rule, None) and other is not None and other.value is not None:
            goal = rule.target_second
            if goal is None or _reaches(other.value, goal, "higher"):
                return Decision(one, True)
    if not first:
        return Decision(None, None)
    return Decision(first[max(first)], False)


def _is_metric(one: Evaluation, name: str | None) -> bool:
    return one.metric is not None and name is not None and one.metric.lower() == name.lower()


def _reaches(value: float, goal: float, direction: str) -> bool:
    return value >= goal if direction == "higher" else value <= goal


def quality_json(records: Records, decision: Decision) -> str | None:
    """The deciding evaluation's value as filed, as JSON text."""
    if decision.evaluation is None:
        return None
    text = bytes(records.value[decision.evaluation.record])
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return text.decode("utf-8", "replace")
