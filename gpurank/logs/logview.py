"""A log's records by key, with readers of their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from gpurank.logs.dialects import finite, json_value
from gpurank.logs.mllog import Records
from gpurank.logs.quality import quantity

_KEYS = frozenset(
    {
        "run_start", "run_stop", "eval_accuracy", "eval_result", "eval_target", "target_accuracy",
        "global_batch_size", "train_samples", "eval_samples", "input_size",
        "preproc_num_train_examples", "gradient_accumulation_steps", "max_sequence_length", "seed",
        "run_set_random_seed", "tracked_stats", "throughput", "submission_benchmark",
        "submission_division", "submission_status", "submission_org", "submission_platform",
    }
)  # fmt: skip


_STEP_TIMES = ("train_step_time", "train_step_timing", "train_step_timing in s")
_THROUGHPUTS = ("throughput", "imgs_sec")


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

    def claimed(self) -> tuple[float | None, float | None]:
        """(throughput, step time in s): medians of what the log itself claims, each record once."""
        throughputs: list[float] = []
        step_times: list[float] = []
        wanted = dict.fromkeys(_THROUGHPUTS, throughputs) | dict.fromkeys(_STEP_TIMES, step_times)
        for number in self._distinct("tracked_stats"):
            value = self.value(number)
            figures = value if isinstance(value, dict) else {}
            for name in figures:
                if name in wanted and (x := finite(figures[name])) is not None:
                    wanted[name].append(x)
        for number in self._distinct("throughput"):
            value = self.value(number)
            if isinstance(value, dict):
                value = next(iter(value.values()), None)
            if (x := finite(value)) is not None:
                throughputs.append(x)
        return _median(throughputs), _median(step_times)

    def _distinct(self, key: str) -> Sequence[int]:
        """Records of a key; those that are the same in time, value and metadata are one."""
        records = self.records
        found: dict[tuple[float | None, bytes, bytes], int] = {}
        for number in self.at(key):
            texts = bytes(records.value[number]), bytes(records.metadata[number])
            found.setdefault((records.time_ms[number], *texts), number)
        return tuple(found.values())

    def benchmark(self) -> str | None:
        """The benchmark that the log says it is; None where it says none or several."""
        named = self.text("submission_benchmark")
        starts = self.at("run_start")
        if named is None and starts:
            benchmark = self.metadata(starts[0]).get("benchmark")
            named = benchmark if isinstance(benchmark, str) else None
        return named

    def stamps(self, key: str) -> list[Stamp]:
        """Distinct times of a key, ascending; records repeated at one time are one."""
        by_time: dict[float, int] = {}
        for number in self.at(key):
            time_ms = self.records.time_ms[number]
            if time_ms is not None and math.isfinite(time_ms):
                by_time.setdefault(time_ms, number)
        return [Stamp(time_ms, by_time[time_ms]) for time_ms in sorted(by_time)]


def _median(numbers: Sequence[float]) -> float | None:
    return median(numbers) if numbers else None
