"""A log's records by key, and readers of their values."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from statistics import median

import msgspec

from gpurank.logs.dialects import finite, json_value, json_values
from gpurank.logs.evaluations import quantity, single_valued
from gpurank.logs.records import Records, positions

_KEYS = frozenset(
    {
        "run_start", "run_stop", "eval_accuracy", "eval_result", "eval_target", "target_accuracy",
        "global_batch_size", "train_samples", "eval_samples", "input_size",
        "preproc_num_train_examples", "gradient_accumulation_steps", "max_sequence_length", "seed",
        "run_set_random_seed", "tracked_stats", "throughput", "submission_benchmark",
        "submission_division", "submission_status", "submission_org", "submission_platform",
    }
)  # fmt: skip


_STEP_TIMES = ("train_step_time", "train_step_timing", "train_step_timing_in_s")
_THROUGHPUTS = ("throughput", "imgs_sec")
_FILED = {"train_step_timing_in_s": "train_step_timing in s"}
_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


class _Stats(msgspec.Struct, rename=_FILED, gc=False):
    """The value of a statistics record; other fields are skipped."""

    throughput: object = None
    imgs_sec: object = None
    train_step_time: object = None
    train_step_timing: object = None
    train_step_timing_in_s: object = None


_decode_stats = msgspec.json.Decoder(list[_Stats]).decode


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time (ms) and the position of the record that bears it."""

    time_ms: float
    record: int


class LogView:
    """A log's records by key, and readers of their values; positions are those of its records."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.by_key = positions(records.key, _KEYS)

    def at(self, key: str) -> Sequence[int]:
        return self.by_key.get(key, ())

    def value(self, number: int) -> object:
        return json_value(self.records.value[number])

    def metadata(self, number: int) -> dict[str, object]:
        """Returns a record's metadata; a field filed twice with different values is null."""
        try:
            fields = json.loads(
                bytes(self.records.metadata[number]) or b"{}", object_pairs_hook=single_valued
            )
        except (ValueError, RecursionError):
            return {}
        return fields if isinstance(fields, dict) else {}

    def number(self, *keys: str) -> float | None:
        """Returns the one number logged under the first key that has any; None if several."""
        for key in keys:
            values = {quantity(self.value(number)) for number in self.at(key)} - {None}
            if values:
                return values.pop() if len(values) == 1 else None
        return None

    def text(self, *keys: str) -> str | None:
        """Returns the one text or number logged under the first key that has any, as text."""
        for key in keys:
            texts = {self._as_text(number) for number in self.at(key)} - {None}
            if texts:
                return texts.pop() if len(texts) == 1 else None
        return None

    def _as_text(self, number: int) -> str | None:
        value = self.value(number)
        if value is None:
            return None
        if isinstance(value, str):
            return value
        return bytes(self.records.value[number]).decode("utf-8", "replace")

    def logged_speed(self) -> tuple[float | None, float | None]:
        """Returns (throughput per s, step time in s): medians of what the log itself states.

        Records that were printed several times count once.
        """
        stats = self._stats(self._distinct("tracked_stats"))
        throughputs = _filed(stats, _THROUGHPUTS)
        step_times = _filed(stats, _STEP_TIMES)
        claims = json_values([self.records.value[n] for n in self._distinct("throughput")])
        for value in claims:
            if isinstance(value, dict):
                value = next(iter(value.values()), None)
            throughputs.append(value)
        return _median(throughputs), _median(step_times)

    def _stats(self, numbers: Sequence[int]) -> list[_Stats]:
        """Returns the values of statistics records; those of another shape are left out."""
        texts = [self.records.value[number] for number in numbers]
        try:
            # One call for all of them: a log holds up to thousands.
            return _decode_stats(b"[" + b",".join(texts) + b"]")
        except _ERRORS:
            values = [self.value(number) for number in numbers]
        stats = [value for value in values if isinstance(value, dict)]
        names = _Stats.__struct_fields__
        return [_Stats(**{n: fields.get(_FILED.get(n, n)) for n in names}) for fields in stats]

    def _distinct(self, key: str) -> Sequence[int]:
        """Returns the records of a key; of those equal in time, value and metadata, the first."""
        records, numbers = self.records, self.at(key)
        if len({records.time_ms[number] for number in numbers}) == len(numbers):
            return numbers
        first: dict[tuple[float | None, bytes, bytes], int] = {}
        for number in numbers:
            texts = bytes(records.value[number]), bytes(records.metadata[number])
            first.setdefault((records.time_ms[number], *texts), number)
        return tuple(first.values())

    def benchmark(self) -> str | None:
        """Returns the benchmark that the log states; None where it states none or several."""
        named = self.text("submission_benchmark")
        starts = self.at("run_start")
        if named is None and starts:
            benchmark = self.metadata(starts[0]).get("benchmark")
            named = benchmark if isinstance(benchmark, str) else None
        return named

    def stamps(self, key: str) -> list[Stamp]:
        """Returns the distinct times of a key, ascending; repeated records are one."""
        by_time: dict[float, int] = {}
        for number in self.at(key):
            time_ms = self.records.time_ms[number]
            if time_ms is not None and math.isfinite(time_ms):
                by_time.setdefault(time_ms, number)
        return [Stamp(time_ms, by_time[time_ms]) for time_ms in sorted(by_time)]


def _filed(stats: Sequence[_Stats], names: Sequence[str]) -> list[object]:
    values = chain.from_iterable(map(attrgetter(name), stats) for name in names)
    return [value for value in values if value is not None]


def _median(values: Sequence[object]) -> float | None:
    """Returns the median of the finite numbers among the values."""
    numbers = [number for value in values if (number := finite(value)) is not None]
    return median(numbers) if numbers else None
