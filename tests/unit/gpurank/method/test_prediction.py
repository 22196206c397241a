"""Predictions of the fleet law: planted worlds, interval coverage at counts nobody filed."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from gpurank.method.fleet import fit_fleet
from gpurank.method.prediction import Predictor, count_grid, predictor
from gpurank.method.settings import MethodSettings

SETTINGS = MethodSettings(fleet_bootstraps=2)
HALF, EXPONENT, GAIN = 150.0, 0.6, 0.1
DATES = {"v1.0": date(2021, 6, 30), "v2.0": date(2022, 6, 29), "v3.0": date(2023, 6, 27)}
COUNTS = (8, 16, 32, 64, 128, 256, 512, 1024)
# The law's own definition, written out: minutes of model i at N chips, y years after its start.
LEVEL = (5.0, 4.2, 3.1)


def minutes(model: Any, count: Any, years: Any = 0.0) -> Any:
    law = np.array(LEVEL)[model] - GAIN * years
    return np.exp(law) * (1 + (count / HALF) ** EXPONENT)


def world(configurations: Any, seed: int, noise: float = 0.05, size: int = 110) -> pl.DataFrame:
    """Three accelerators at seven of eight counts each; cells share a part of their noise."""
    rng = np.random.default_rng(seed)
    model = np.concatenate([[0, 1, 2], rng.integers(0, 3, size - 3)])
    count = rng.choice(COUNTS, size)
    # Accelerator i is never filed at its own gap.
    count = np.where(count == np.array([32, 64, 128])[model], 8, count)
    rounds = rng.choice(list(DATES), size)
    rounds[:3] = "v1.0"
    years = np.array([(DATES[r] - DATES["v1.0"]).days / 365.25 for r in rounds])
    took = minutes(model, count, years) * np.exp(rng.normal(0, noise, size))
    return configurations(
        score_min=(took / count).tolist(),
        accelerator_count=count.tolist(),
        accelerator=[f"X{i}" for i in model],
        round_id=rounds.tolist(),
        round_date=[DATES[r] for r in rounds],
        submitter=[f"s{i}" for i in rng.integers(0, 25, size)],
    )


def made(frame: pl.DataFrame) -> Predictor:
    found = predictor(frame, "resnet", fit_fleet(frame, "resnet", SETTINGS), SETTINGS)
    assert found is not None
    return found


def test_without_noise_the_planted_time_is_predicted(configurations: Any) -> None:
    last = (DATES["v3.0"] - DATES["v1.0"]).days / 365.25
    for found in made(world(configurations, 0, 1e-6)).predict([32, 48, 4096]):
        model = int(found.accelerator[1])
        true = minutes(model, found.accelerator_count, last) / found.accelerator_count
        assert found.score_min == pytest.approx(true, rel=1e-3)
        assert found.software_round_id == "v3.0"
        assert found.accelerator_minutes == pytest.approx(found.score_min * found.accelerator_count)


def test_flags_say_filed_and_extrapolated(configurations: Any) -> None:
    found = {
        (p.accelerator, p.accelerator_count): p
        for p in made(world(configurations, 0)).predict([4, 8, 32, 64, 4096])
    }
    assert not found["X0", 32].is_filed and not found["X0", 32].is_extrapolated
    assert found["X0", 64].is_filed
    assert not found["X0", 8].is_extrapolated
    assert found["X0", 4].is_extrapolated and found["X0", 4096].is_extrapolated
    assert (found["X0", 4].filed_count_low, found["X0", 4].filed_count_high) == (8, 1024)


def test_ninety_percent_intervals_hold_ninety_percent(configurations: Any) -> None:
    """New results at counts that nobody filed: an interval must hold 85 to 95 in a hundred."""
    last = (DATES["v3.0"] - DATES["v1.0"]).days / 365.25
    inside, trials = 0, 0
    for seed in range(40):
        for p in made(world(configurations, seed)).predict([32, 64, 128]):
            if p.is_filed or p.score_low_min is None or p.score_high_min is None:
                continue
            rng = np.random.default_rng([seed, p.accelerator_count])
            true = minutes(int(p.accelerator[1]), p.accelerator_count, last)
            new = true * np.exp(rng.normal(0, 0.05, 10)) / p.accelerator_count
            inside += int(((p.score_low_min <= new) & (new <= p.score_high_min)).sum())
            trials += 10
    assert trials >= 1000
    assert 0.85 <= inside / trials <= 0.95


def test_the_check_counts_its_own_coverage(configurations: Any) -> None:
    checks = [made(world(configurations, seed)).check() for seed in range(10)]
    assert 0.85 <= np.mean([c.coverage for c in checks]) <= 0.96
    # |N(0, 0.05)| has the median 0.674 * 0.05.
    assert np.mean([c.median_error for c in checks]) == pytest.approx(0.034, abs=0.008)
    assert all(15 <= c.cell_count <= 21 for c in checks)


def test_too_few_cells_give_a_number_without_an_interval(configurations: Any) -> None:
    frame = world(configurations, 0).filter(
        ((pl.col("accelerator") == "X0") & pl.col("accelerator_count").is_in([8, 64, 512]))
        | ((pl.col("accelerator") == "X1") & pl.col("accelerator_count").is_in([16, 32, 256, 512]))
    )
    settings = MethodSettings(fleet_bootstraps=2, selection_minimum_rows=10)
    law = fit_fleet(frame, "resnet", settings)
    found = predictor(frame, "resnet", law, settings)
    assert found is not None
    assert len(np.unique(found.cell)) == 7
    for p in found.predict([128]):
        assert p.score_min > 0 and p.score_low_min is None and p.score_high_min is None
    assert found.check().coverage is None


def test_accelerators_filed_at_one_count_each_cannot_be_checked(configurations: Any) -> None:
    size = 40
    count = [8 * 2 ** (i % 6) for i in range(size)]
    frame = configurations(
        score_min=[1000 / n for n in count],
        accelerator_count=count,
        accelerator=[f"X{i % 6}" for i in range(size)],
    )
    check = made(frame).check()
    assert (check.row_count, check.median_error, check.coverage) == (0, None, None)


def test_no_law_no_prediction(configurations: Any) -> None:
    frame = world(configurations, 0).head(5)
    assert predictor(frame, "resnet", fit_fleet(frame, "resnet", SETTINGS), SETTINGS) is None


def test_the_grid_stays_inside_what_was_filed(configurations: Any) -> None:
    grid = count_grid(made(world(configurations, 0)).data)
    assert grid == [8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]


def test_row_order_changes_nothing(configurations: Any) -> None:
    frame = world(configurations, 1)
    mixed = frame.sample(fraction=1, shuffle=True, seed=3)
    assert made(frame).predict([32, 4096]) == made(mixed).predict([32, 4096])
    assert made(frame).check() == made(mixed).check()
