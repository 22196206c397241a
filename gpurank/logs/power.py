"""Power logs: the energy of one node's or switch's readings over the log's own window.

Official energy of a run = conversion efficiency x sum(W x dt) x run time / window. The window is
the power log's own and is never clipped by the run's: many logs were taken at another time than
the run they are filed with.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from gpurank.logs.dialects import json_value
from gpurank.logs.evaluations import quantity
from gpurank.logs.records import Records, positions

DeviceKind = Literal["node", "switch", "total"]

_KEYS = frozenset(
    {
        "power_measurement_start", "power_measurement_stop", "power_reading", "conversion_eff",
        "interconnect_power_est",
    }
)  # fmt: skip
_TOTAL = re.compile(
    rb"^\s{0,9}total[^:\n]{0,40}:\s{0,9}([\d.,]{1,20})\s{0,9}([kM]?)Wh",
    re.IGNORECASE | re.MULTILINE,
)
_TOTAL_LONGEST = 4096
_decode_numbers = msgspec.json.Decoder(list[float]).decode
_JOULES = {b"": 3600.0, b"k": 3.6e6, b"M": 3.6e9}


@dataclass(frozen=True, slots=True)
class PowerFacts:
    """The columns of raw.power without path, folder and run stem.

    ``energy_j`` is the plain integral, before ``conversion_efficiency``; for the submitter's own
    ``total`` it is the total as filed. Impossible values are None: an energy of zero or less, and
    an efficiency outside 0 to 1 or stated several times (then the energy is None too).
    """

    device_kind: DeviceKind
    window_s: float | None
    energy_j: float | None
    conversion_efficiency: float | None
    interconnect_power_w: float | None
    reading_count: int


def power_facts(data: bytes, records: Records, name: str) -> PowerFacts | None:
    """Returns what a power log states; None if the file is not a power log.

    Args:
        data: the file's bytes.
        records: its records.
        name: its file name, ``node_*.txt`` or ``sw_*.txt``.
    """
    if not len(records):
        match = _TOTAL.search(data[:_TOTAL_LONGEST])
        if not match:
            return None
        total = quantity(match[1].decode().replace(",", ""))
        energy = None if total is None else total * _JOULES[match[2]]
        return PowerFacts("total", None, energy, None, None, 0)
    at = positions(records.key, _KEYS)
    start = _first_time(records, at["power_measurement_start"])
    stop = _first_time(records, at["power_measurement_stop"])
    readings = _readings(records, at["power_reading"], start)
    window_s, energy_j = _integral(readings, start, stop)
    efficiency = _only(records, at["conversion_eff"])
    if at["conversion_eff"] and (efficiency is None or not 0 < efficiency <= 1):
        # Without an efficiency, power at the node would be taken for power at the wall.
        efficiency = energy_j = None
    estimate = _only(records, at["interconnect_power_est"])
    return PowerFacts(
        device_kind=device_kind(name),
        window_s=window_s,
        energy_j=energy_j,
        conversion_efficiency=efficiency,
        interconnect_power_w=None if estimate is None or estimate < 0 else estimate,
        reading_count=len(at["power_reading"]),
    )


def device_kind(path: str) -> DeviceKind:
    """Returns what a power log measures, by its name."""
    return "switch" if path.rpartition("/")[2].startswith("sw") else "node"


def _first_time(records: Records, numbers: Sequence[int]) -> float | None:
    times = [time for number in numbers if (time := records.time_ms[number]) is not None]
    return min(times, default=None)


def _readings(
    records: Records, numbers: Sequence[int], start: float | None
) -> list[tuple[float, float]]:
    """Returns (time in ms, power in W) of the readings from the start on, by time."""
    values = [records.value[number] for number in numbers]
    watts: Sequence[float | None]
    try:
        watts = _decode_numbers(b"[" + b",".join(values) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        watts = [quantity(json_value(value)) for value in values]
    if len(watts) != len(numbers):
        watts = [quantity(json_value(value)) for value in values]
    times = [records.time_ms[number] for number in numbers]
    return sorted(
        (time, power)
        for time, power in zip(times, watts, strict=True)
        if power is not None and time is not None and (start is None or time >= start)
    )


def _integral(
    readings: list[tuple[float, float]], start: float | None, stop: float | None
) -> tuple[float | None, float | None]:
    """Returns (window in s, energy in J); a reading is the power since the one before it.

    Some loggers give start and stop the same time; the window then ends with the last reading.
    """
    if not readings or start is None:
        return None, None
    end = stop if stop is not None and stop > start else readings[-1][0]
    energy, previous = 0.0, start
    for time, watts in readings:
        if time > end:
            break
        energy += watts * (time - previous) / 1000
        previous = time
    window_s = (end - start) / 1000
    if not window_s > 0:
        return None, None
    # Meters near zero also read a few watts below it; such readings stay in the sum as filed.
    return window_s, energy if 0 < energy < math.inf else None


def _only(records: Records, numbers: Sequence[int]) -> float | None:
    values = {quantity(json_value(records.value[number])) for number in numbers} - {None}
    return values.pop() if len(values) == 1 else None
