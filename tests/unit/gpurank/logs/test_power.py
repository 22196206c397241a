"""Energy of a power log over its own window."""

from __future__ import annotations

import pytest
from synthetic_logs import log, record

from gpurank.logs.power import PowerFacts, power_facts
from gpurank.logs.records import read_log


def read(lines: list[str], name: str = "node_0.txt") -> PowerFacts | None:
    data = log(lines)
    return power_facts(data, read_log(data), name)


def test_each_reading_holds_since_the_one_before() -> None:
    lines = [
        record("power_measurement_start", 1_000_000, "null"),
        record("conversion_eff", 1_000_000, 0.96),
        record("power_reading", 1_002_000, 100),
        record("power_reading", 1_003_000, 300.0),
        record("power_measurement_stop", 1_004_000, None),
        record("power_reading", 1_010_000, 9_999),
    ]
    # 100 W x 2 s + 300 W x 1 s, over the window of 4 s
    assert read(lines) == PowerFacts("node", 4.0, 500.0, 0.96, None, 3)
    assert read(lines[::-1]) == read(lines)


def test_a_stop_stamped_like_the_start_is_no_end() -> None:
    lines = [
        record("power_measurement_start", 1_000_000, "null"),
        record("power_reading", 1_002_000, 100),
        record("power_reading", 1_004_000, "200"),
        record("power_measurement_stop", 1_000_000, "null"),
    ]
    assert read(lines) == PowerFacts("node", 4.0, 600.0, None, None, 2)


@pytest.mark.parametrize(("filed_w", "power_w"), [(16_100, 16_100), (-1, None)])
def test_a_switch_may_state_one_estimate(filed_w: float, power_w: float | None) -> None:
    estimate = record("interconnect_power_est", 5, filed_w)
    assert read([estimate] * 2, "sw_1.txt") == PowerFacts("switch", None, None, None, power_w, 0)


@pytest.mark.parametrize(
    ("text", "joules"),
    [("Total Power Usage: 10.35 kWh", 37_260_000), ("Total power usage: 1,200 Wh\n", 4_320_000)],
)
def test_a_total_in_prose(text: str, joules: float) -> None:
    total = read([text])
    assert total is not None
    assert (total.device_kind, total.energy_j) == ("total", pytest.approx(joules))


def test_logs_without_energy() -> None:
    assert read(["readings are in the other folder"]) is None
    assert read([record("power_reading", 5, 100)]) == PowerFacts("node", None, None, None, None, 1)


# Impossible values (percent, zero, negative, huge) stand in tests/cases/test_hostile.py.
@pytest.mark.parametrize(
    ("first", "second", "joules"),
    [
        ("broken", 50, 100),  # an unreadable reading is left out: 50 W x 2 s
        (100, -5, 95),  # a meter may read below zero now and then
    ],
)
def test_odd_readings(first: float | str, second: float, joules: float) -> None:
    lines = [
        record("power_measurement_start", 0, None),
        record("power_reading", 1_000, first),
        record("power_reading", 2_000, second),
        record("power_measurement_stop", 2_000, None),
    ]
    assert read(lines) == PowerFacts("node", 2.0, joules, None, None, 2)
