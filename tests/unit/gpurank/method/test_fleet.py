"""The fleet law: a planted law is recovered, and the solver finds the library's optimum."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import least_squares

from gpurank.method.fleet import fit_fleet
from gpurank.method.fleet_law import break_even, efficiency
from gpurank.method.model_scaling import model_scaling
from gpurank.method.robust_fit import read_sample, solve
from gpurank.method.settings import MethodSettings

SETTINGS = MethodSettings(fleet_bootstraps=40)
HALF, EXPONENT, GAIN = 150.0, 0.6, 0.1
DATES = {"v1.0": date(2021, 6, 30), "v2.0": date(2022, 6, 29), "v3.0": date(2023, 6, 27)}


def planted(configurations: Any, noise: float = 0.03, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    size = 120
    count = rng.choice([8, 16, 32, 64, 128, 256, 512, 2048], size)
    model = rng.integers(0, 3, size)
    rounds = rng.choice(list(DATES), size)
    rounds[:3], model[:3] = "v1.0", [0, 1, 2]
    years = np.array([(DATES[r] - DATES["v1.0"]).days / 365.25 for r in rounds])
    law = 5 - model - GAIN * years + np.log1p((count / HALF) ** EXPONENT)
    minutes = np.exp(law + rng.normal(0, noise, size))
    return configurations(
        score_min=(minutes / count).tolist(),
        accelerator_count=count.tolist(),
        accelerator=[f"X{i}" for i in model],
        round_id=rounds.tolist(),
        round_date=[DATES[r] for r in rounds],
        submitter=[f"s{i}" for i in rng.integers(0, 25, size)],
    )


def test_efficiency_by_hand_and_its_inverse() -> None:
    # Nc = 64, g = 1: e(64) = (1 + 1/8) / 2.
    assert efficiency(64, 64.0, 1.0) == pytest.approx(1.125 / 2)
    assert efficiency(8, 64.0, 1.35) == pytest.approx(1.0)
    # e = 1/2 at 1 + N/64 = 2.25.
    assert break_even(0.5, 64.0, 1.0) == pytest.approx(80)
    level = efficiency(300, 90.0, 0.7)
    assert break_even(level, 90.0, 0.7) == pytest.approx(300)


def test_a_planted_law_is_recovered(configurations: Any) -> None:
    law = fit_fleet(planted(configurations), "resnet", SETTINGS)
    true = efficiency(512, HALF, EXPONENT)
    low, high = law.efficiency_interval(512)
    assert law.efficiency(512) == pytest.approx(true, abs=0.03)
    assert low < law.efficiency(512) < high and high - low < 0.1
    assert law.yearly_gain == pytest.approx(GAIN, abs=0.02)
    count, first, last = law.break_even(0.5)
    assert first < count < last


def test_intervals_cover_the_truth_about_as_often_as_they_say(configurations: Any) -> None:
    true = efficiency(512, HALF, EXPONENT)
    half = break_even(0.5, HALF, EXPONENT)
    settings = MethodSettings(fleet_bootstraps=100)
    inside = np.zeros(2)
    for seed in range(100):
        law = fit_fleet(planted(configurations, 0.05, seed), "resnet", settings)
        low, high = law.efficiency_interval(512)
        _, first, last = law.break_even(0.5)
        inside += (low <= true <= high, first <= half <= last)
    assert ((inside / 100 >= 0.85) & (inside / 100 <= 0.95)).all(), inside


def test_the_solver_finds_the_librarys_optimum(configurations: Any) -> None:
    data = read_sample(planted(configurations, 0.2), "resnet", SETTINGS)
    root = np.sqrt(data.weight)

    def residual(p: Any) -> Any:
        power = np.exp(p[1]) * (data.log_count - p[0])
        law = p[3:][data.model] - p[2] * data.years + np.logaddexp(0, power)
        return root * (data.log_minutes - law)

    start = np.array([np.log(100), np.log(0.7), 0.1])
    first = np.concatenate([start, np.full(len(data.models), 4.0)])
    wanted = least_squares(residual, first, loss="soft_l1", f_scale=0.1, xtol=1e-12, ftol=1e-12)
    theta, levels, cost = solve(data, np.ones((1, len(root))), start[None])
    # The library's cost is half of 2 f^2 (sqrt(1 + z) - 1) summed, ours the sum of the brackets.
    assert cost[0] * 0.1**2 == pytest.approx(wanted.cost, rel=1e-8)
    assert theta[0] == pytest.approx(wanted.x[:3], abs=1e-3)
    assert levels[0] == pytest.approx(wanted.x[3:], abs=1e-3)


def test_an_outlier_is_found_and_judged_without_itself(configurations: Any) -> None:
    frame = planted(configurations)
    slow = frame["result_id"][7]
    worse = pl.when(pl.col("result_id") == slow).then(2.0).otherwise(1.0)
    odd = frame.with_columns(
        score_min=pl.col("score_min") * worse,
        accelerator_minutes=pl.col("accelerator_minutes") * worse,
    )
    law = fit_fleet(odd, "resnet", SETTINGS)
    assert [row.result_id for row in law.rows if row.is_outlier] == [slow]
    found = next(row for row in law.rows if row.result_id == slow)
    assert found.log_residual == pytest.approx(np.log(2), abs=0.1)


def test_a_model_filed_once_has_no_residual(configurations: Any) -> None:
    frame = planted(configurations)
    alone = pl.when(pl.col("result_id") == frame["result_id"][7]).then(pl.lit("only"))
    law = fit_fleet(
        frame.with_columns(accelerator=alone.otherwise(pl.col("accelerator"))), "resnet", SETTINGS
    )
    row = next(r for r in law.rows if r.result_id == frame["result_id"][7])
    assert row.z is None and row.expected_minutes is None and not row.is_outlier
    assert all(r.z is not None for r in law.rows if r.result_id != row.result_id)


def test_too_little_says_so(configurations: Any) -> None:
    frame = planted(configurations)
    assert fit_fleet(frame.head(20), "resnet", SETTINGS).reason == "20 rows, 30 needed"
    flat = frame.with_columns(accelerator_count=pl.lit(8))
    reason = "1 distinct accelerator counts, 5 needed"
    assert fit_fleet(flat, "resnet", SETTINGS).reason == reason
    undated = frame.with_columns(round_date=pl.lit(None, pl.Date))
    assert fit_fleet(undated, "resnet", SETTINGS).reason == "0 rows, 30 needed"


def test_row_order_changes_nothing(configurations: Any) -> None:
    frame = planted(configurations)
    one = fit_fleet(frame, "resnet", SETTINGS)
    two = fit_fleet(frame.reverse(), "resnet", SETTINGS)
    assert one.rows == two.rows and one.half_count == two.half_count
    assert np.array_equal(one.draws, two.draws)


def test_power_and_amdahl_fits_recover_their_own_laws(configurations: Any) -> None:
    count = np.array([8, 16, 64, 256, 1024])
    power = configurations(
        score_min=(100 * count**0.2 / count).tolist(), accelerator_count=count.tolist()
    )
    assert model_scaling(power, "resnet")[0].power_exponent == pytest.approx(0.2, abs=1e-6)
    amdahl = configurations(
        score_min=(900 * (0.01 + 0.99 / count)).tolist(), accelerator_count=count.tolist()
    )
    found = model_scaling(amdahl, "resnet")[0]
    assert found.serial_share == pytest.approx(0.01, rel=1e-3)
    assert found.serial_error < 1e-4 < found.power_error
    assert model_scaling(power.head(2), "resnet") == []
