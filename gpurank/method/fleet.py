"""The fleet law: how accelerator-minutes grow with the number of accelerators.

ln AM = a_model - s * (date - first date of that model) + ln(1 + (N / Nc)^g), with Nc, g and s
shared by a benchmark's models. docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.stats import norm, t

from gpurank.method.robust_fit import Sample, law, sample, solve
from gpurank.method.selection import submitter_weights
from gpurank.method.settings import Floats, MethodSettings, one_thread

BASE_COUNT = 8
LEVELS = (0.9, 0.8, 0.7, 0.5, 0.3)


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One result beside the law; field names are columns of analysis.fleet_result.

    ``fleet_efficiency`` is e(N). The rest is None where no other row has its model: the
    ``expected_minutes`` (accelerator-minutes) of the law fitted without the row, ln AM minus
    that, and this over the benchmark's robust SD. An outlier is a place to look, not a proof.
    """

    result_id: str
    fleet_efficiency: float
    expected_minutes: float | None
    log_residual: float | None
    z: float | None
    is_outlier: bool


@dataclass(frozen=True, slots=True)
class FleetLaw:
    """A fitted law, or the ``reason`` why there is none (then the numbers are nan).

    ``half_count`` is Nc, ``exponent`` g, ``yearly_gain`` s (natural log a year). Nc and g are
    strongly correlated: read ``efficiency``, not them. ``draws`` are (ln Nc, ln g, s) of the
    submitter bootstraps, (b, 3). ``estimated_date_count`` rows are of a round whose date is not
    known and stands half a year after the one before. ``rows`` compares each result with the law
    fitted without it.
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
        """Accelerator-minutes at 8 chips over those at ``count``: 1 at 8, falling."""
        return float(efficiency(count, np.log(self.half_count), np.log(self.exponent)))

    def efficiency_interval(self, count: float) -> tuple[float | None, float | None]:
        """90 % submitter-bootstrap interval of ``efficiency``; None where none were made."""
        if not len(self.draws):
            return None, None
        found = efficiency(count, self.draws[:, 0], self.draws[:, 1])
        return expanded_interval(np.asarray(found), self.submitter_count)

    def break_even(self, level: float) -> tuple[float, float | None, float | None]:
        """N at which efficiency falls to ``level``, with its 90 % interval as above."""
        point = break_even(level, np.log(self.half_count), np.log(self.exponent))
        if not len(self.draws):
            return float(point), None, None
        found = break_even(level, self.draws[:, 0], self.draws[:, 1])
        return (float(point), *expanded_interval(np.asarray(found), self.submitter_count))


def efficiency(count: float | Floats, log_half: float | Floats, log_exponent: float | Floats
               ) -> float | Floats:  # fmt: skip
    """e(N) = (1 + (8 / Nc)^g) / (1 + (N / Nc)^g), elementwise."""
    power = np.exp(log_exponent)
    base = np.exp(power * (np.log(BASE_COUNT) - log_half))
    result: Floats = (1 + base) / (1 + np.exp(power * (np.log(count) - log_half)))
    return result


def break_even(
    level: float, log_half: float | Floats, log_exponent: float | Floats
) -> float | Floats:
    """The N at which e(N) = level, elementwise; the inverse of ``efficiency``."""
    power = np.exp(log_exponent)
    base = np.exp(power * (np.log(BASE_COUNT) - log_half))
    result: Floats = np.exp(log_half + np.log((1 + base) / level - 1) / power)
    return result


def fit_fleet(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> FleetLaw:
    """Fit the law by soft-L1 least squares and bootstrap it over submitters.

    Needs the rows and submitters that selection needs, and five distinct counts.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        settings: minimums, bootstraps and seed.
    """
    data = sample(frame, benchmark, settings)
    reason = _too_little(data, settings)
    owners = data.frame["submitter"].fill_null("").to_list()
    undated = int(data.frame["is_round_date_estimated"].sum())
    shape = (benchmark, len(data.weight), len(set(owners)), undated)
    if reason:
        nan = float("nan")
        return FleetLaw(*shape, nan, nan, nan, {}, (), np.empty((0, 3)), reason)
    starts = np.array([[np.log(n), np.log(g), 0.1] for n in (50, 150, 400) for g in (0.5, 1.0)])
    resampled = submitter_weights(owners, settings.fleet_bootstraps, settings.seed)
    with one_thread():
        theta, levels, cost = solve(data, np.ones((len(starts), len(data.weight))), starts)
        best = int(np.round(cost, 9).argmin())
        draws, _, _ = solve(data, resampled, np.repeat(theta[[best]], len(resampled), axis=0))
        rows = _rows(data, theta[best], settings)
    return FleetLaw(
        *shape,
        half_count=float(np.exp(theta[best, 0])),
        exponent=float(np.exp(theta[best, 1])),
        yearly_gain=float(theta[best, 2]),
        log_minutes=dict(zip(data.models, levels[best].tolist(), strict=True)),
        rows=rows,
        draws=draws,
    )


def _rows(data: Sample, theta: Floats, settings: MethodSettings) -> tuple[FleetRow, ...]:
    """Each row against the law fitted to all others."""
    size = len(data.weight)
    copies = 1.0 - np.eye(size)
    without, levels, _ = solve(data, copies, np.repeat(theta[None], size, axis=0))
    index = np.arange(size)
    expected = law(data, without)[index, index] + levels[index, data.model]
    others = np.bincount(data.model)[data.model] > 1
    residual = np.where(others, data.log_minutes - expected, np.nan)
    spread = 1.4826 * float(np.nanmedian(np.abs(residual)))
    share = np.asarray(efficiency(np.exp(data.log_count), theta[0], theta[1]))
    return tuple(
        FleetRow(
            result_id=name,
            fleet_efficiency=float(share[i]),
            expected_minutes=float(np.exp(expected[i])) if others[i] else None,
            log_residual=float(residual[i]) if others[i] else None,
            z=float(residual[i] / spread) if others[i] and spread > 0 else None,
            is_outlier=bool(others[i] and abs(residual[i]) > settings.outlier_z * spread > 0),
        )
        for i, name in enumerate(data.frame["result_id"].to_list())
    )


def _too_little(data: Sample, settings: MethodSettings) -> str | None:
    rows = len(data.weight)
    if rows < settings.selection_minimum_rows:
        return f"{rows} rows, {settings.selection_minimum_rows} needed"
    submitters = data.frame["submitter"].n_unique()
    if submitters < settings.selection_minimum_submitters:
        return f"{submitters} submitters, {settings.selection_minimum_submitters} needed"
    counts = len(np.unique(data.log_count))
    return None if counts >= 5 else f"{counts} distinct accelerator counts, 5 needed"


def expanded_interval(values: Floats, owners: int) -> tuple[float, float]:
    """90 % percentile interval of a bootstrap over few owners, widened as a t interval is.

    Hesterberg's expanded percentile: the plain one is too narrow for a small sample.
    """
    tail = float(norm.cdf(-np.sqrt(owners / (owners - 1)) * t.ppf(0.95, owners - 1)))
    low, high = np.quantile(values, (tail, 1 - tail))
    return float(low), float(high)
