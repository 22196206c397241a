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


def test_a_switch_may_give_one_estimate() -> None:
    estimate = record("interconnect_power_est", 5, 16100)
    assert read([estimate] * 2, "sw_1.txt") == PowerFacts("switch", None, None, None, 16100, 0)


@pytest.mark.parametrize(
    ("text", "joules"),
    [("Total Power Usage: 10.35 kWh", 37_260_000), ("Total power usage: 1,200 Wh\n", 4_320_000)],
)
def test_a_total_in_prose(text: str, joules: float) -> None:
    found = read([text])
    assert found is not None
    assert (found.device_kind, found.energy_j) == ("total", pytest.approx(joules))


def test_prose_without_a_total_is_no_power_log() -> None:
    assert read(["readings are in the other folder"]) is None


def test_readings_without_a_start_have_no_energy() -> None:
    assert read([record("power_reading", 5, 100)]) == PowerFacts("node", None, None, None, None, 1)


def test_unreadable_readings_are_left_out() -> None:
    lines = [
        record("power_measurement_start", 0, None),
        record("power_reading", 1_000, "broken"),
        record("power_reading", 2_000, 50),
        record("power_measurement_stop", 2_000, None),
    ]
    assert read(lines) == PowerFacts("node", 2.0, 100.0, None, None, 2)


@pytest.mark.parametrize(
    ("watts", "efficiencies"),
    [
        (-5, [0.9]),
        (0, [0.9]),
        (1e308, [0.9]),
        (50, [95]),
        (50, [0]),
        (50, [-0.5]),
        (50, [0.9, 0.8]),
    ],
)
def test_impossible_values_have_no_energy(watts: float, efficiencies: list[float]) -> None:
    lines = [
        record("power_measurement_start", 0, None),
        *(record("conversion_eff", 0, value) for value in efficiencies),
        record("power_reading", 20_000, watts),
        record("power_reading", 40_000, watts),
        record("power_measurement_stop", 40_000, None),
        record("interconnect_power_est", 40_000, -1),
    ]
    found = read(lines)
    assert found is not None
    assert (found.window_s, found.energy_j, found.interconnect_power_w) == (40.0, None, None)
    assert found.conversion_efficiency in (0.9, None)


def test_a_meter_may_read_below_zero_now_and_then() -> None:
    lines = [
        record("power_measurement_start", 0, None),
        record("power_reading", 1_000, 100),
        record("power_reading", 2_000, -5),
        record("power_measurement_stop", 2_000, None),
    ]
    assert read(lines) == PowerFacts("node", 2.0, 95.0, None, None, 2)
