"""Robust fits of the fleet law to many resamples at once.

gpurank/method/fleet.py has the law; docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpurank.declared.rounds import round_order
from gpurank.method.arrays import Bools, Floats, Ints
from gpurank.method.configurations import analysis_set, floats
from gpurank.method.settings import MethodSettings

# Residuals of ln AM above this count linearly, not squared.
_SCALE = 0.1
_MAX_STEPS = 80
_DAYS_A_YEAR = 365.25
# Bounds of ln Nc, ln g and s; beyond them the data carries no information.
_LOW, _HIGH = np.array([0.0, np.log(0.05), -2.0]), np.array([np.log(1e6), np.log(5.0), 3.0])


@dataclass(frozen=True, slots=True)
class Sample:
    """The n rows that the law is fitted to.

    ``years`` are counted from the first date of the row's accelerator model, ``model`` is an index
    into ``models``, and ``weight`` is 1 / (rows of the same round, model and count).
    """

    frame: pl.DataFrame
    log_minutes: Floats
    log_count: Floats
    years: Floats
    model: Ints
    models: tuple[str, ...]
    weight: Floats


def read_sample(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Sample:
    """Returns analysis-set rows since the first round used, with known accelerator and date."""
    rows = analysis_set(frame, benchmark).filter(
        pl.col("accelerator").is_not_null() & pl.col("round_date").is_not_null()
    )
    first_round = round_order(settings.fleet_first_round)
    recent = [name for name in rows["round_id"].unique() if round_order(name) >= first_round]
    rows = rows.filter(pl.col("round_id").is_in(recent))
    day = rows["round_date"].cast(pl.Date).to_physical().cast(pl.Float64).to_numpy()
    models, number = np.unique(rows["accelerator"].to_numpy().astype(str), return_inverse=True)
    first = np.full(len(models), np.inf)
    np.minimum.at(first, number, day)
    cell = rows.select(pl.len().over(["round_id", "accelerator", "accelerator_count"]))
    return Sample(
        frame=rows,
        log_minutes=np.log(floats(rows, "accelerator_minutes")),
        log_count=np.log(floats(rows, "accelerator_count")),
        years=(day - first[number]) / _DAYS_A_YEAR,
        model=number.astype(np.int64),
        models=tuple(models.tolist()),
        weight=1.0 / cell.to_series().cast(pl.Float64).to_numpy(),
    )


def solve(data: Sample, copies: Floats, start: Floats) -> tuple[Floats, Floats, Floats]:
    """Minimises the soft-L1 loss in many resamples at once (damped, reweighted Gauss-Newton).

    Args:
        data: n rows of m models.
        copies: (b, n) how often a resample holds each row.
        start: (b, 3) initial ln Nc, ln g, s.

    Returns:
        (b, 3) parameters, (b, m) model levels, (b,) loss. The level of a model without rows in a
        resample is nan.
    """
    member = np.eye(len(data.models))[data.model]
    theta = np.clip(start, _LOW, _HIGH)
    mass = copies * data.weight
    total = mass @ member
    levels = (mass * (data.log_minutes - law(data, theta))) @ member / np.where(total > 0, total, 1)
    cost = _loss(data, copies, theta, levels)
    damping = np.full(len(theta), 1e-2)
    live = np.arange(len(theta))
    for _ in range(_MAX_STEPS):
        # Converged resamples are no longer computed, so that a few slow ones cost little.
        now, levels_now, copies_now = theta[live], levels[live], copies[live]
        step, shift = _step(data, now, levels_now, copies_now, member, damping[live])
        trial, trial_levels = np.clip(now + step, _LOW, _HIGH), levels_now + shift
        trial_cost = _loss(data, copies_now, trial, trial_levels)
        better: Bools = trial_cost <= cost[live]
        is_done = better & (cost[live] - trial_cost <= 1e-12 * (1 + trial_cost))
        theta[live] = np.where(better[:, None], trial, now)
        levels[live] = np.where(better[:, None], trial_levels, levels_now)
        cost[live] = np.where(better, trial_cost, cost[live])
        damping[live] = np.clip(np.where(better, damping[live] / 4, damping[live] * 8), 1e-9, 1e6)
        live = live[~is_done & (damping[live] < 1e6)]
        if not len(live):
            break
    return theta, np.where(total > 0, levels, np.nan), cost


def law(data: Sample, theta: Floats) -> Floats:
    """Returns ln AM of the sample without the model's level: (b, n)."""
    return law_at(data.log_count, data.years, theta)


def law_at(log_count: Floats, years: Floats, theta: Floats) -> Floats:
    """Returns ln AM without the model's level at n counts and years since its first date."""
    power = np.exp(theta[:, [1]]) * (log_count - theta[:, [0]])
    result: Floats = np.maximum(power, 0) + np.log1p(np.exp(-np.abs(power)))
    result -= theta[:, [2]] * years
    return result


def _step(
    data: Sample, theta: Floats, levels: Floats, copies: Floats, member: Floats, damping: Floats
) -> tuple[Floats, Floats]:
    """Returns one damped step of the shared parameters and of the levels, eliminated exactly.

    With r = 1 / (1 + (Nc / N)^g) and p = g ln(N / Nc) the law's slopes by ln Nc, ln g and s are
    -g r, r p and -years.
    """
    exponent = np.exp(theta[:, [1]])
    power = exponent * (data.log_count - theta[:, [0]])
    small = np.exp(-np.abs(power))
    rise = np.where(power > 0, 1.0, small) / (1 + small)
    fitted = np.maximum(power, 0) + np.log1p(small) - theta[:, [2]] * data.years
    residual = data.log_minutes - fitted - levels[:, data.model]
    robust = copies * data.weight / np.sqrt(1 + data.weight * (residual / _SCALE) ** 2)
    total = robust @ member
    share = 1 / np.where(total > 0, total, 1)
    slopes = (-exponent * rise, rise * power, np.broadcast_to(-data.years, rise.shape))
    weighted = [robust * slope for slope in slopes]
    sums = [product @ member for product in weighted]
    rest = (robust * residual) @ member
    left, right = np.empty((len(theta), 3, 3)), np.empty((len(theta), 3, 1))
    for i in range(3):
        right[:, i, 0] = _dot(weighted[i], residual) - _dot(sums[i] * share, rest)
        for j in range(i + 1):
            product = _dot(weighted[i], slopes[j]) - _dot(sums[i] * share, sums[j])
            left[:, i, j] = left[:, j, i] = product
    scale = np.einsum("bkk->b", left)
    left += (damping * scale + 1e-10)[:, None, None] * np.eye(3)
    step = np.asarray(np.linalg.solve(left, right)[:, :, 0], dtype=np.float64)
    shift: Floats = rest * share
    for i in range(3):
        shift -= sums[i] * share * step[:, [i]]
    return step, np.where(total > 0, shift, 0.0)


def _dot(a: Floats, b: Floats) -> Floats:
    """Returns the dot product of each pair of rows: (b,)."""
    product: Floats = np.einsum("bn,bn->b", a, b)
    return product


def _loss(data: Sample, copies: Floats, theta: Floats, levels: Floats) -> Floats:
    """Returns the soft-L1 loss of each resample: (b,)."""
    residual = data.log_minutes - law(data, theta) - levels[:, data.model]
    soft = np.sqrt(1 + data.weight * (residual / _SCALE) ** 2) - 1
    loss: Floats = (copies * soft).sum(axis=1)
    return loss
