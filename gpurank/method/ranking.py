"""Stage 3: ranks configurations by delay cost.

Delay cost = T x (N + lambda) = AM + lambda x T, in chip-minutes, lower is better. It depends on the
entry's own numbers only, so that adding an entry never reorders others. docs/method.md, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpurank.method.arrays import Floats, Ints
from gpurank.method.configurations import floats
from gpurank.method.noise import (
    RunNoise,
    lambda_draws,
    run_draws,
    run_noise,
    site_draws,
    site_noise,
)
from gpurank.method.pareto import best_intervals
from gpurank.method.settings import MethodError, MethodSettings
from gpurank.method.ties import tie_groups

# Ends of a 90 % interval.
_LEVELS = (0.05, 0.95)
_TOP = 5
# Numbers in one block of draws; it should fit into a core's cache.
_BLOCK = 32_768


@dataclass(frozen=True, slots=True)
class Noise:
    """Simulated noise of one benchmark, shared by its lists.

    ``run`` and ``site`` are errors of ln T, (draws, n); ``site`` is None if no cell is large
    enough to measure it. ``position`` is each result's column.
    """

    position: dict[str, int]
    runs: RunNoise
    site_sd: float | None
    run: Floats
    site: Floats | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One entry of a list; field names are the columns of analysis.ranking.

    Equal entries share the lowest rank. ``best_for_lambda_high`` is None if the interval has no
    upper end (or there is none: then ``best_for_lambda_low`` is None too). Rank intervals hold
    90 % of the draws: of run noise, with site noise, and with the range of lambda too.
    """

    result_id: str
    rank: int
    tie_group: int
    score_min: float
    accelerator_count: int
    accelerator_minutes: float
    delay_cost: float
    lambda_chips: float
    log_score_sd: float
    best_for_lambda_low: float | None
    best_for_lambda_high: float | None
    probability_first: float
    probability_top_5: float
    rank_low_run: int
    rank_high_run: int
    rank_low_site: int | None
    rank_high_site: int | None
    rank_low: int
    rank_high: int


def rankable(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns rows with a score and accelerators, sorted by result_id; not CPU-only systems."""
    return frame.filter((pl.col("score_min") > 0) & (pl.col("accelerator_count") > 0)).sort(
        "result_id"
    )


def unrankable_reason(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns result_id and reason of rows that are in no ranking at all."""
    reason = (
        pl.when(pl.col("score_min").is_null() | ~(pl.col("score_min") > 0))
        .then(pl.lit("no score"))
        .when(pl.col("division").ne_missing("closed"))
        .then(pl.concat_str(pl.col("division").fill_null("unknown"), pl.lit(" division")))
        .when(pl.col("accelerator_count").is_null())
        .then(pl.lit("accelerator count unknown"))
        .when(pl.col("accelerator_count") == 0)
        .then(pl.lit("no accelerators (host processors only)"))
        .when(pl.col("is_same_round_copy").fill_null(False))
        .then(pl.lit("copy of a result of the same round"))
    )
    return frame.select("result_id", reason.alias("reason")).drop_nulls("reason").sort("result_id")


def delay_cost(time_min: Floats, accelerator_count: Floats, lambda_chips: float) -> Floats:
    """Returns T x (N + lambda) in chip-minutes, elementwise."""
    return time_min * (accelerator_count + lambda_chips)


def min_ranks(*keys: Floats) -> Ints:
    """Returns ranks 1.. by the keys in turn; entries equal in all of them share the lowest."""
    order = np.lexsort(keys[::-1])
    is_new = np.ones(len(order), dtype=np.bool_)
    if len(order):
        ordered = np.stack(keys)[:, order]
        is_new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.maximum.accumulate(np.where(is_new, np.arange(1, len(order) + 1), 0))
    return result


def noise(frame: pl.DataFrame, settings: MethodSettings) -> Noise:
    """Returns run and site noise of all rankable rows of one benchmark, with their draws.

    SDs are medians over the analysis set, which holds each measurement once, if there is one.
    """
    rows = rankable(frame)
    runs = run_noise(rows, settings)
    independent = rows.filter(pl.col("is_in_analysis_set"))
    site_sd = site_noise(independent if len(independent) else rows, settings)
    ids = rows["result_id"].to_list()
    return Noise(
        position={name: i for i, name in enumerate(ids)},
        runs=runs,
        site_sd=site_sd,
        run=run_draws(ids, runs, settings),
        site=None if site_sd is None else site_draws(ids, site_sd, settings),
    )


def rank(frame: pl.DataFrame, noise: Noise, settings: MethodSettings) -> list[Ranked]:
    """Ranks one list of entries, best first.

    Args:
        frame: rows of one benchmark; those without score or accelerators are skipped.
        noise: of the same benchmark, covering these rows.
        settings: lambda, its range and the tie quantile.

    Raises:
        MethodError: the rows are of several benchmarks.
    """
    rows = rankable(frame)
    if rows["benchmark"].n_unique() > 1:
        raise MethodError("one list ranks one benchmark; times of several do not compare")
    if not len(rows):
        return []
    rows = _sort_by_cost(rows, settings)
    time, count = floats(rows, "score_min"), floats(rows, "accelerator_count")
    cost = delay_cost(time, count, settings.lambda_chips)
    ids = rows["result_id"].to_list()
    columns = np.array([noise.position[result_id] for result_id in ids])
    variances = noise.runs.variance[columns]
    ranks, ties = min_ranks(cost, count), tie_groups(cost, variances, settings.tie_quantile)
    best = best_intervals(time, time * count)
    spread = _spread(np.log(time), count, columns, noise, settings)
    return [
        Ranked(
            result_id=ids[i],
            rank=int(ranks[i]),
            tie_group=int(ties[i]),
            score_min=float(time[i]),
            accelerator_count=int(count[i]),
            accelerator_minutes=float(time[i] * count[i]),
            delay_cost=float(cost[i]),
            lambda_chips=settings.lambda_chips,
            log_score_sd=float(np.sqrt(variances[i])),
            best_for_lambda_low=best[i][0] if i in best else None,
            best_for_lambda_high=best[i][1] if i in best and np.isfinite(best[i][1]) else None,
            probability_first=float(spread.first[i]),
            probability_top_5=float(spread.top[i]),
            rank_low_run=int(spread.run[0, i]),
            rank_high_run=int(spread.run[1, i]),
            rank_low_site=None if spread.site is None else int(spread.site[0, i]),
            rank_high_site=None if spread.site is None else int(spread.site[1, i]),
            rank_low=int(spread.all[0, i]),
            rank_high=int(spread.all[1, i]),
        )
        for i in range(len(ids))
    ]


def _sort_by_cost(rows: pl.DataFrame, settings: MethodSettings) -> pl.DataFrame:
    """Returns rows best first; equal costs by lower N, then by path, their order already."""
    count = floats(rows, "accelerator_count")
    cost = delay_cost(floats(rows, "score_min"), count, settings.lambda_chips)
    return rows[np.lexsort((np.arange(len(rows)), count, cost))]


@dataclass(frozen=True, slots=True)
class _Spread:
    """Rank intervals (2, n) by source of uncertainty; probabilities of rank 1 and the top 5."""

    run: Ints
    site: Ints | None
    all: Ints
    first: Floats
    top: Floats


def _spread(
    log_time: Floats, count: Floats, columns: Ints, noise: Noise, settings: MethodSettings
) -> _Spread:
    """Returns rank intervals under run noise; with site noise; with the range of lambda too."""
    size = len(count)
    by_run, by_site, by_all = np.zeros((3, size, size), dtype=np.int64)
    log_cost = log_time + np.log(count + settings.lambda_chips)
    distinct, index = np.unique(count, return_inverse=True)
    lambdas = lambda_draws(settings)[:, None]
    # A block of draws at a time, at least as large as the table of counts that it is added to.
    step = max(_BLOCK // size, size)
    for first in range(0, settings.draws, step):
        block = slice(first, first + step)
        run = noise.run[block, columns]
        site = run if noise.site is None else run + noise.site[block, columns]
        by_run += rank_counts(log_cost + run)
        if noise.site is not None:
            by_site += rank_counts(log_cost + site)
        by_all += rank_counts(log_time + np.log(distinct + lambdas[block])[:, index] + site)
    return _Spread(
        run=_interval(by_run),
        site=None if noise.site is None else _interval(by_site),
        all=_interval(by_all),
        first=by_all[:, 0] / settings.draws,
        top=by_all[:, :_TOP].sum(axis=1) / settings.draws,
    )


def rank_counts(scores: Floats) -> Ints:
    """Returns in how many draws entry i has rank j + 1: (n, n) for (draws, n) scores.

    Equal scores keep the order of the entries.
    """
    count = scores.shape[1]
    order = np.argsort(scores, axis=1, kind="stable")
    cells = order * count + np.arange(count)
    return np.bincount(cells.ravel(), minlength=count * count).reshape(count, count)


def _interval(counts: Ints) -> Ints:
    """Returns the lowest ranks with at least each level's share of draws up to them: (2, n)."""
    cumulative = np.cumsum(counts, axis=1)
    draws = cumulative[:, -1:]
    return np.stack([(cumulative < level * draws - 1e-6).sum(axis=1) + 1 for level in _LEVELS])
