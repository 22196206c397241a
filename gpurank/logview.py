"""A log's records by key, with readers of their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from gpurank.dialects import finite, json_value
from gpurank.mllog import Records
from gpurank.quality import quantity

_KEYS = frozenset(
    {
        "run_start", "run_stop", "eval_accuracy", "eval_result", "eval_target", "target_accuracy",
        "global_batch_size", "train_samples", "eval_samples", "input_size",
        "preproc_num_train_examples", "gradient_accumulation_steps", "max_sequence_length", "seed",
        "run_set_random_seed", "tracked_stats", "throughput", "submission_benchmark",
        "submission_division", "submission_status", "submission_org", "submission_platform",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time (ms) and the position of the record that bears it."""

    time_ms: float
    record: int


class LogView:
    """One log; positions are those of its records."""

    """A log's records by key, with readers of their values."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.by_key: dict[str | None, list[int]] = {}
        for number, key in enumerate(records.key):
            if key in _KEYS:
                self.by_key.setdefault(key, []).append(number)

    def at(self, key: str) -> Sequence[int]:
        return self.by_key.get(key, ())

    def value(self, number: int) -> object:
        return json_value(self.records.value[number])

    def metadata(self, number: int) -> dict[str, object]:
        fields = json_value(self.records.metadata[number])
        return fields if isinstance(fields, dict) else {}

    def number(self, *keys: str) -> float | None:
        """The one number logged under the first of the keys that has any; None if several."""
        for key in keys:
            found = {quantity(self.value(number)) for number in self.at(key)} - {None}
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def text(self, *keys: str) -> str | None:
        """The one text or number logged under the first of the keys that has any."""
        for key in keys:
            found = {self._as_text(number) for number in self.at(key)} - {None}
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def _as_text(self, number: int) -> str | None:
        value = self.value(number)
        if value is None:
            return None
        if isinstance(value, str):
            return value
        return bytes(self.records.value[number]).decode("utf-8", "replace")

    def median_of(self, names: Sequence[str], *, own_key: str | None = None) -> float | None:
        """Median of a figure that tracked_stats, or a key of its own, claims."""
        found: list[float] = []
        for number in self.at("tracked_stats"):
            value = self.value(number)
            if isinstance(value, dict):
                found.extend(x for n in names if (x := finite(value.get(n))) is not None)
        for number in self.at(own_key) if own_key else ():
            value = self.value(number)
            x = finite(next(iter(value.values()), None) if isinstance(value, dict) else value)
            if x is not None:
                found.append(x)
        return median(found) if found else None

    def stamps(self, key: str) -> list[Stamp]:
        """Distinct times of a key, ascending; records repeated at one time are one."""
        by_time: dict[float, int] = {}
        for number in self.at(key):
            time_ms = self.records.time_ms[number]
            if time_ms is not None and math.isfinite(time_ms):
                by_time.setdefault(time_ms, number)
        return [Stamp(time_ms, by_time[time_ms]) for time_ms in sorted(by_time)]
