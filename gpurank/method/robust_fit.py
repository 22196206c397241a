"""Fitting the fleet law: its sample, and a solver for many resamples at once.

The law and what it means stand in gpurank/method/fleet.py; docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpurank.declared.rounds import round_order
from gpurank.method.settings import Bools, Floats, Ints, MethodSettings, analysis_set, floats

_SCALE = 0.1
_STEPS = 80
_DAYS_A_YEAR = 365.25
# ln Nc, ln g and s stay inside these; beyond them the data says nothing.
_LOW, _HIGH = np.array([0.0, np.log(0.05), -2.0]), np.array([np.log(1e6), np.log(5.0), 3.0])


@dataclass(frozen=True, slots=True)
class Sample:
    """What the law is fitted to, n rows: ln AM, ln N, years since the model's first date,
    model numbers, and weights 1 / (rows in the same round, model and N)."""

    frame: pl.DataFrame
    log_minutes: Floats
    log_count: Floats
    years: Floats
    model: Ints
    models: tuple[str, ...]
    weight: Floats


def sample(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Sample:
    """The analysis-set rows from the first round on, with a known accelerator and round date."""
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
    """Minimise the soft-L1 loss in many resamples at once (damped Gauss-Newton, reweighted).

    Args:
        data: n rows of m models.
        copies: (b, n) how often each row stands in a resample.
        start: (b, 3) first ln Nc, ln g, s.

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
    for _ in range(_STEPS):
        # Those that have converged leave, so that a few slow ones do not hold up the rest.
        now, at, own = theta[live], levels[live], copies[live]
        step, shift = _step(data, now, at, own, member, damping[live])
        trial, moved = np.clip(now + step, _LOW, _HIGH), at + shift
        new = _loss(data, own, trial, moved)
        better: Bools = new <= cost[live]
        is_done = better & (cost[live] - new <= 1e-12 * (1 + new))
        theta[live] = np.where(better[:, None], trial, now)
        levels[live] = np.where(better[:, None], moved, at)
        cost[live] = np.where(better, new, cost[live])
        damping[live] = np.clip(np.where(better, damping[live] / 4, damping[live] * 8), 1e-9, 1e6)
        live = live[~is_done & (damping[live] < 1e6)]
        if not len(live):
            break
    return theta, np.where(total > 0, levels, np.nan), cost


def law(data: Sample, theta: Floats) -> Floats:
    """ln AM without the model's level: (b, n)."""
    return law_at(data.log_count, data.years, theta)


def law_at(log_count: Floats, years: Floats, theta: Floats) -> Floats:
    """ln AM without the model's level at n counts and years since a model's first date: (b, n)."""
    power = np.exp(theta[:, [1]]) * (log_count - theta[:, [0]])
    found: Floats = np.maximum(power, 0) + np.log1p(np.exp(-np.abs(power)))
    found -= theta[:, [2]] * years
    return found


def _step(
    data: Sample, theta: Floats, levels: Floats, copies: Floats, member: Floats, damping: Floats
) -> tuple[Floats, Floats]:
    """One damped step of the shared parameters, the models' levels eliminated exactly.

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
    weighed = [robust * slope for slope in slopes]
    sums = [one @ member for one in weighed]
    rest = (robust * residual) @ member
    left, right = np.empty((len(theta), 3, 3)), np.empty((len(theta), 3, 1))
    for i in range(3):
        right[:, i, 0] = _dot(weighed[i], residual) - _dot(sums[i] * share, rest)
        for j in range(i + 1):
            product = _dot(weighed[i], slopes[j]) - _dot(sums[i] * share, sums[j])
            left[:, i, j] = left[:, j, i] = product
    scale = np.einsum("bkk->b", left)
    left += (damping * scale + 1e-10)[:, None, None] * np.eye(3)
    step = np.asarray(np.linalg.solve(left, right)[:, :, 0], dtype=np.float64)
    shift: Floats = rest * share
    for i in range(3):
        shift -= sums[i] * share * step[:, [i]]
    return step, np.where(total > 0, shift, 0.0)


def _dot(one: Floats, other: Floats) -> Floats:
    product: Floats = np.einsum("bn,bn->b", one, other)
    return product


def _loss(data: Sample, copies: Floats, theta: Floats, levels: Floats) -> Floats:
    residual = data.log_minutes - law(data, theta) - levels[:, data.model]
    soft = np.sqrt(1 + data.weight * (residual / _SCALE) ** 2) - 1
    loss: Floats = (copies * soft).sum(axis=1)
    return loss
