"""Fitting the fleet law: its sample, and a solver for many resamples at once.

The law and what it means stand in gpurank/fleet.py; docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpurank.method import Bools, Floats, Ints, MethodSettings, analysis_set, floats
from gpurank.rounds import round_order

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
        (b, 3) parameters, (b, m) model levels, (b,) loss.
    """
    member = np.eye(len(data.models))[data.model]
    theta = np.clip(start, _LOW, _HIGH)
    total = (copies * data.weight) @ member
    levels = ((copies * data.weight) * (data.log_minutes - law(data, theta))) @ member
    levels = levels / np.where(total > 0, total, 1)
    damping = np.full(len(theta), 1e-2)
    cost = _loss(data, copies, theta, levels)
    for _ in range(_STEPS):
        residual = data.log_minutes - law(data, theta) - levels[:, data.model]
        robust = copies * data.weight / np.sqrt(1 + data.weight * (residual / _SCALE) ** 2)
        step, shift = _step(_slopes(data, theta), residual, robust, member, damping)
        trial = np.clip(theta + step, _LOW, _HIGH)
        moved = levels + shift
        new = _loss(data, copies, trial, moved)
        better: Bools = new <= cost
        gain = np.where(better, cost - new, 0.0)
        theta = np.where(better[:, None], trial, theta)
        levels = np.where(better[:, None], moved, levels)
        cost = np.where(better, new, cost)
        damping = np.clip(np.where(better, damping / 4, damping * 8), 1e-9, 1e6)
        if not (gain > 1e-12 * (1 + cost)).any() and (better | (damping >= 1e6)).all():
            break
    return theta, levels, cost


def law(data: Sample, theta: Floats) -> Floats:
    """ln AM without the model's level: (b, n)."""
    power = np.exp(theta[:, [1]]) * (data.log_count - theta[:, [0]])
    law: Floats = np.logaddexp(0, power) - theta[:, [2]] * data.years
    return law


def _slopes(data: Sample, theta: Floats) -> Floats:
    """Derivatives of the law by ln Nc, ln g and s: (b, n, 3)."""
    exponent = np.exp(theta[:, [1]])
    power = exponent * (data.log_count - theta[:, [0]])
    rise = 1 / (1 + np.exp(-power))
    flat = np.broadcast_to(-data.years, power.shape)
    return np.stack([-exponent * rise, rise * power, flat], axis=2)


def _step(
    slopes: Floats, residual: Floats, robust: Floats, member: Floats, damping: Floats
) -> tuple[Floats, Floats]:
    """One damped step of the shared parameters, the models' levels eliminated exactly."""
    total = robust @ member
    safe = np.where(total > 0, total, 1)
    share = robust[:, :, None] * slopes
    mean_slope = np.einsum("bnk,nm->bmk", share, member) / safe[:, :, None]
    mean_residual = ((robust * residual) @ member) / safe
    number = member.argmax(axis=1)
    centred = slopes - mean_slope[:, number]
    left = np.einsum("bnk,bnl->bkl", robust[:, :, None] * centred, centred)
    right = np.einsum("bnk,bn->bk", robust[:, :, None] * centred, residual)
    scale = np.einsum("bkk->bk", left)
    left = left + (damping[:, None] * scale + 1e-10)[:, :, None] * np.eye(3)
    step = np.linalg.solve(left, right[:, :, None])[:, :, 0]
    shift = mean_residual - np.einsum("bmk,bk->bm", mean_slope, step)
    return step, np.where(total > 0, shift, 0.0)


def _loss(data: Sample, copies: Floats, theta: Floats, levels: Floats) -> Floats:
    residual = data.log_minutes - law(data, theta) - levels[:, data.model]
    soft = np.sqrt(1 + data.weight * (residual / _SCALE) ** 2) - 1
    loss: Floats = (copies * soft).sum(axis=1)
    return loss
