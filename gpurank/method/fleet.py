"""Fits the fleet law: how accelerator-minutes grow with the number of accelerators.

ln AM = a_model - s x (date - first date of that model) + ln(1 + (N / Nc)^g), with Nc, g and s
shared by a benchmark's models. docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.stats import norm, t

from gpurank.method.arrays import Floats
from gpurank.method.fleet_law import break_even, efficiency
from gpurank.method.robust_fit import Sample, law, read_sample, solve
from gpurank.method.selection import submitter_weights, too_small
from gpurank.method.settings import MethodSettings

# Efficiencies whose break-even counts are listed.
LEVELS = (0.9, 0.8, 0.7, 0.5, 0.3)
_MINIMUM_COUNTS = 5


@dataclass(frozen=True, slots=True)
class FleetRow:
    """Compares one result with the law; field names are columns of analysis.fleet_result.

    ``fleet_efficiency`` is e(N). ``expected_minutes`` are the accelerator-minutes of the law fitted
    without the row, ``log_residual`` is ln AM minus their logarithm, and ``z`` the residual divided
    by the benchmark's robust SD; these are None if no other row has its model. An outlier is a
    result to look at, not a proof of anything.
    """

    result_id: str
    fleet_efficiency: float
    expected_minutes: float | None
    log_residual: float | None
    z: float | None
    is_outlier: bool


@dataclass(frozen=True, slots=True)
class FleetLaw:
    """A fitted law, or the ``reason`` why there is none (the numbers are then nan).

    ``half_count`` is Nc, ``exponent`` g, ``yearly_gain`` s (natural log per year). Nc and g are
    strongly correlated, so interpret ``efficiency`` instead. ``draws`` (b, 3) are ln Nc, ln g and s
    of the bootstraps over submitters. ``estimated_date_count`` rows are of a round whose date is
    unknown and assumed to be half a year after the round before it. ``rows`` compares each result
    with the law fitted without it.
    """

    benchmark: str
    row_count: int
    submitter_count: int
    estimated_date_count: int
    half_count: float
    exponent: float
    yearly_gain: float
    log_minutes: dict[str, float]
    rows: tuple[FleetRow, ...]
    draws: Floats
    reason: str | None = None

    def efficiency(self, count: float) -> float:
        """Returns accelerator-minutes at 8 chips divided by those at ``count``: 1 at 8, falling."""
        return efficiency(count, self.half_count, self.exponent)

    def efficiency_interval(self, count: float) -> tuple[float | None, float | None]:
        """Returns the 90 % interval of ``efficiency`` over submitters; None without bootstraps."""
        return self._interval(efficiency(count, *self._bootstraps()))

    def break_even(self, level: float) -> tuple[float, float | None, float | None]:
        """Returns the N at which efficiency falls to ``level``, with its 90 % interval."""
        low, high = self._interval(break_even(level, *self._bootstraps()))
        return break_even(level, self.half_count, self.exponent), low, high

    def _bootstraps(self) -> tuple[Floats, Floats]:
        """Returns Nc and g of each bootstrap: (b,) each."""
        return np.exp(self.draws[:, 0]), np.exp(self.draws[:, 1])

    def _interval(self, values: Floats) -> tuple[float | None, float | None]:
        if not len(values):
            return None, None
        return expanded_interval(values, self.submitter_count)


def fit_fleet(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> FleetLaw:
    """Fits the law by soft-L1 least squares and bootstraps it over submitters.

    It needs as many rows and submitters as selection, and five distinct counts.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        settings: minimums, bootstraps and seed.
    """
    data = read_sample(frame, benchmark, settings)
    reason = _too_small(data, settings)
    submitters = data.frame["submitter"].fill_null("").to_list()
    undated = int(data.frame["is_round_date_estimated"].sum())
    shape = (benchmark, len(data.weight), len(set(submitters)), undated)
    if reason:
        nan = float("nan")
        return FleetLaw(*shape, nan, nan, nan, {}, (), np.empty((0, 3)), reason)
    starts = np.array([[np.log(n), np.log(g), 0.1] for n in (50, 150, 400) for g in (0.5, 1.0)])
    resampled = submitter_weights(submitters, settings.fleet_bootstraps, settings.seed)
    theta, levels, cost = solve(data, np.ones((len(starts), len(data.weight))), starts)
    best = int(np.round(cost, 9).argmin())
    draws, _, _ = solve(data, resampled, np.repeat(theta[[best]], len(resampled), axis=0))
    return FleetLaw(
        *shape,
        half_count=float(np.exp(theta[best, 0])),
        exponent=float(np.exp(theta[best, 1])),
        yearly_gain=float(theta[best, 2]),
        log_minutes=dict(zip(data.models, levels[best].tolist(), strict=True)),
        rows=_rows(data, theta[best], settings),
        draws=draws,
    )


def _rows(data: Sample, theta: Floats, settings: MethodSettings) -> tuple[FleetRow, ...]:
    """Compares each row with the law fitted to all others."""
    size = len(data.weight)
    copies = 1.0 - np.eye(size)
    fold_theta, fold_levels, _ = solve(data, copies, np.repeat(theta[None], size, axis=0))
    index = np.arange(size)
    expected = law(data, fold_theta)[index, index] + fold_levels[index, data.model]
    has_others = np.bincount(data.model)[data.model] > 1
    residual = np.where(has_others, data.log_minutes - expected, np.nan)
    robust_sd = 1.4826 * float(np.nanmedian(np.abs(residual)))
    half_count, exponent = float(np.exp(theta[0])), float(np.exp(theta[1]))
    return tuple(
        FleetRow(
            result_id=result_id,
            fleet_efficiency=efficiency(float(np.exp(data.log_count[i])), half_count, exponent),
            expected_minutes=float(np.exp(expected[i])) if has_others[i] else None,
            log_residual=float(residual[i]) if has_others[i] else None,
            z=float(residual[i] / robust_sd) if has_others[i] and robust_sd > 0 else None,
            is_outlier=bool(
                has_others[i] and abs(residual[i]) > settings.outlier_z * robust_sd > 0
            ),
        )
        for i, result_id in enumerate(data.frame["result_id"].to_list())
    )


def _too_small(data: Sample, settings: MethodSettings) -> str | None:
    """Returns why the law cannot be fitted; None if it can."""
    reason = too_small(len(data.weight), data.frame["submitter"].n_unique(), settings)
    count = len(np.unique(data.log_count))
    if reason is None and count < _MINIMUM_COUNTS:
        return f"{count} distinct accelerator counts, {_MINIMUM_COUNTS} needed"
    return reason


def expanded_interval(values: Floats, group_count: int) -> tuple[float, float]:
    """Returns a 90 % percentile interval of bootstraps over few groups, widened like a t interval.

    Hesterberg's expanded percentile interval; the plain one is too narrow for a small sample.
    """
    tail = float(norm.cdf(-np.sqrt(group_count / (group_count - 1)) * t.ppf(0.95, group_count - 1)))
    low, high = np.quantile(values, (tail, 1 - tail))
    return float(low), float(high)
