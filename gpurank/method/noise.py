"""Uncertainty of a reported time: run noise, site noise, and their simulated draws.

docs/method.md, section 3, has the model and its sources.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from scipy.stats import norm

from gpurank.method.arrays import Floats
from gpurank.method.settings import MethodSettings

# Upper bounds of the size tiers in accelerators; the last tier has none.
_TIERS = (16, 256)
_MAD_TO_SD = 1.4826


@dataclass(frozen=True, slots=True)
class RunNoise:
    """Run noise of n results, in natural-log units.

    ``sd`` is the shrunken SD of one run, ``variance`` the variance of the olympic mean.
    ``run_count`` runs are redrawn, and ``dropped_count`` of them dropped at each end.
    """

    sd: Floats
    variance: Floats
    run_count: tuple[int, ...]
    dropped_count: tuple[int, ...]


@cache
def trimmed_mean_factor(run_count: int, dropped_count: int) -> float:
    """Returns the variance of a normal sample's trimmed mean, as a multiple of one observation's.

    The asymptotic variance of the trimmed mean (winsorised variance over the kept share), at the
    normal. Within 5 % of the exact value from three runs on; 1/n where nothing is dropped.

    Args:
        run_count: n >= 1.
        dropped_count: runs dropped at each end, 2 * dropped_count < run_count.
    """
    share = dropped_count / run_count
    if share == 0:
        return 1.0 / run_count
    z = float(norm.ppf(1 - share))
    inner = (1 - 2 * share) - 2 * z * float(norm.pdf(z))
    return (inner + 2 * share * z * z) / ((1 - 2 * share) ** 2 * run_count)


def run_noise(frame: pl.DataFrame, settings: MethodSettings) -> RunNoise:
    """Returns the run noise of every row, each SD shrunk to the median SD of its size tier.

    s^2 = (d0 * s0^2 + (n - 1) * s_i^2) / (d0 + n - 1) with d0 prior degrees of freedom and s0 the
    tier's median over each measurement once. A tier without a measured SD takes the median of all;
    without any, 0.

    Args:
        frame: rows of one benchmark with run_minutes, dropped_count, accelerator_count and
            is_independent.
        settings: the prior degrees of freedom.
    """
    runs = [np.log(np.array(r, dtype=np.float64)) for r in frame["run_minutes"].fill_null([])]
    counts = np.array([len(r) for r in runs])
    sample_sd = np.array([r.std(ddof=1) if len(r) > 1 else np.nan for r in runs])
    tier = np.digitize(frame["accelerator_count"].to_numpy(), np.array(_TIERS) + 0.5)
    is_independent = frame["is_independent"].fill_null(False).to_numpy()
    usable = is_independent & np.isfinite(sample_sd)
    prior = np.full(len(runs), float(np.median(sample_sd[usable])) if usable.any() else 0.0)
    for number in np.unique(tier):
        in_tier = sample_sd[(tier == number) & usable]
        if len(in_tier):
            prior[tier == number] = np.median(in_tier)
    degrees = np.maximum(counts - 1, 0)
    total = settings.prior_degrees * prior**2 + degrees * np.nan_to_num(sample_sd) ** 2
    sd = np.sqrt(total / (settings.prior_degrees + degrees))
    shape = [
        (max(int(n), 1), int(d) if 2 * (d or 0) < n else 0)
        for n, d in zip(counts, frame["dropped_count"].fill_null(0), strict=True)
    ]
    factor = np.array([trimmed_mean_factor(n, d) for n, d in shape])
    return RunNoise(sd, sd**2 * factor, tuple(n for n, _ in shape), tuple(d for _, d in shape))


def site_noise(frame: pl.DataFrame, settings: MethodSettings) -> float | None:
    """Returns the SD of ln T between submitters of equal systems: 1.4826 * median |ln T - median|.

    Cells are (round, accelerator, N) with at least ``site_minimum`` entries; None without any.
    """
    cell = ["round_id", "accelerator", "accelerator_count"]
    log = pl.col("score_min").log()
    deviation = (
        frame.filter(pl.col("accelerator").is_not_null())
        .filter(pl.len().over(cell) >= settings.site_minimum)
        .select((log - log.median().over(cell)).abs().alias("deviation"))["deviation"]
    )
    median = deviation.median()
    return None if median is None else _MAD_TO_SD * float(median)  # type: ignore[arg-type]


def generator(settings: MethodSettings, *names: str) -> np.random.Generator:
    """Returns a random stream named by ``names``: no entry's draws depend on other entries."""
    return np.random.default_rng([settings.seed, *(zlib.crc32(n.encode()) for n in names)])


def run_draws(result_ids: list[str], noise: RunNoise, settings: MethodSettings) -> Floats:
    """Returns simulated errors of each result's ln T from run noise: (draws, n), centred on 0.

    Each draw redraws the runs of the set from a log-normal and takes their olympic mean.
    """
    result = np.empty((len(result_ids), settings.draws))
    for i, name in enumerate(result_ids):
        count, drop = noise.run_count[i], noise.dropped_count[i]
        normal = generator(settings, name, "run").standard_normal((settings.draws, count))
        if drop > 1:
            normal.sort(axis=1)
            normal = normal[:, drop - 1 : count - drop + 1]
        # One row per run, because adding whole rows is faster than summing many short ones.
        runs = np.ascontiguousarray(normal.T)
        runs *= noise.sd[i]
        np.exp(runs, out=runs)
        total = runs.sum(axis=0)
        if drop:
            total -= runs.max(axis=0) + runs.min(axis=0)
        result[i] = np.log(total / (count - 2 * drop))
    centred: Floats = (result - result.mean(axis=1, keepdims=True)).T
    return centred


def site_draws(result_ids: list[str], sd: float, settings: MethodSettings) -> Floats:
    """Returns simulated errors of each result's ln T from its site: (draws, n)."""
    draws = [generator(settings, name, "site").standard_normal(settings.draws)
             for name in result_ids]  # fmt: skip
    result: Floats = sd * np.stack(draws, axis=1)
    return result


def lambda_draws(settings: MethodSettings) -> Floats:
    """Returns log-uniform values of lambda, in chips: (draws,)."""
    low, high = np.log([settings.lambda_low, settings.lambda_high])
    return np.exp(generator(settings, "lambda").uniform(low, high, settings.draws))
