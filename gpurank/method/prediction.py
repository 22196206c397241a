"""Predicts times at accelerator counts that nobody submitted, with prediction intervals.

The fleet law predicts the time. The intervals are conformal: they come from the errors of cells
(accelerator and count) that were left out of the fit. docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpurank.method.arrays import Bools, Floats, Ints
from gpurank.method.fleet import FleetLaw
from gpurank.method.robust_fit import Sample, law_at, read_sample, solve
from gpurank.method.settings import MethodSettings

_COVERAGE = 0.90
# Cells needed for an interval. Counts inside and outside the submitted range are calibrated apart
# where each kind has that many.
_MINIMUM_CELLS = 10


@dataclass(frozen=True, slots=True)
class Prediction:
    """One accelerator at one count; field names are columns of analysis.prediction.

    ``software_round_id`` is the accelerator's newest round, whose software is assumed.
    ``is_extrapolated``: the count is outside the counts submitted with it. ``score_low_min`` to
    ``score_high_min`` is the 90 % prediction interval; None if too few cells measure it.
    """

    accelerator: str
    accelerator_count: int
    score_min: float
    score_low_min: float | None
    score_high_min: float | None
    accelerator_minutes: float
    is_filed: bool
    is_extrapolated: bool
    filed_count_low: int
    filed_count_high: int
    software_round_id: str


@dataclass(frozen=True, slots=True)
class PredictionCheck:
    """Errors of cells left out; field names are columns of analysis.prediction_check.

    ``median_error`` is the median of |predicted T / T - 1| over results. ``coverage`` is the share
    of results inside the interval made without their cell, ``cell_coverage`` the same with every
    cell counting once. ``coverage_inside`` and ``coverage_extrapolated`` are of cells whose count
    is inside or outside the remaining counts of its accelerator.
    """

    cell_count: int
    row_count: int
    median_error: float | None
    coverage: float | None
    cell_coverage: float | None
    coverage_inside: float | None
    coverage_extrapolated: float | None


@dataclass(frozen=True, slots=True)
class Predictor:
    """The law of one benchmark and its fits without each cell.

    ``fold_theta`` (f, 3) and ``fold_levels`` (f, m) are fits without cell f, ``cell`` (n,) is the
    cell of each row, ``residual`` (n,) is ln AM minus that of the fit without its cell (nan if no
    other cell has the accelerator), and ``is_outside`` (n,) says whether the row's count is outside
    the other counts of its accelerator.
    """

    data: Sample
    theta: Floats
    levels: Floats
    fold_theta: Floats
    fold_levels: Floats
    cell: Ints
    residual: Floats
    is_outside: Bools

    def calibration(
        self, is_outside: bool, excluded_cell: int | None = None
    ) -> tuple[Ints, float | None]:
        """Returns the rows whose residuals calibrate a kind of prediction, and the quantile to use.

        With n rows the quantile is 0.9 (n + 1) / n; it is None with fewer than ten cells.
        """
        usable = ~np.isnan(self.residual)
        if excluded_cell is not None:
            usable &= self.cell != excluded_cell
        same_kind = usable & (self.is_outside == is_outside)
        if len(np.unique(self.cell[same_kind])) >= _MINIMUM_CELLS:
            usable = same_kind
        rows = np.flatnonzero(usable)
        if len(np.unique(self.cell[rows])) < _MINIMUM_CELLS:
            return rows, None
        return rows, _COVERAGE * (len(rows) + 1) / len(rows)

    def predict(self, counts: list[int]) -> list[Prediction]:
        """Returns a prediction of every accelerator at every count, by name and count."""
        predictions = []
        for number, name in enumerate(self.data.models):
            rows = self.data.model == number
            submitted = np.round(np.exp(self.data.log_count[rows])).astype(int)
            lowest, highest = int(submitted.min()), int(submitted.max())
            newest = int(np.flatnonzero(rows)[self.data.years[rows].argmax()])
            outside = np.array([not lowest <= count <= highest for count in counts])
            minutes, low, high = self._minutes(number, self.data.years[newest], counts, outside)
            for i, count in enumerate(counts):
                predictions.append(
                    Prediction(
                        accelerator=name,
                        accelerator_count=count,
                        score_min=float(minutes[i] / count),
                        score_low_min=_finite(low[i] / count),
                        score_high_min=_finite(high[i] / count),
                        accelerator_minutes=float(minutes[i]),
                        is_filed=count in submitted,
                        is_extrapolated=bool(outside[i]),
                        filed_count_low=lowest,
                        filed_count_high=highest,
                        software_round_id=str(self.data.frame["round_id"][newest]),
                    )
                )
        return predictions

    def _minutes(
        self, model: int, years: float, counts: list[int], outside: Bools
    ) -> tuple[Floats, Floats, Floats]:
        """Returns accelerator-minutes and their interval, nan if there is none.

        The intervals are CV+ intervals (Barber et al. 2021).
        """
        log_counts = np.log(np.array(counts, dtype=np.float64))
        when = np.full(len(counts), years)
        centre = law_at(log_counts, when, self.theta[None])[0] + self.levels[model]
        folds = law_at(log_counts, when, self.fold_theta) + self.fold_levels[:, [model]]
        low, high = np.full((2, len(counts)), np.nan)
        for is_outside in (False, True):
            rows, share = self.calibration(is_outside)
            columns = np.flatnonzero(outside == is_outside)
            if share is None or not len(columns):
                continue
            fold_values = folds[np.ix_(self.cell[rows], columns)]
            error = np.abs(self.residual[rows])[:, None]
            # A fold without this accelerator has no level for it and is skipped.
            has_level = ~np.isnan(fold_values[:, 0])
            lowest = _lower_quantile((fold_values - error)[has_level], share)
            highest = -_lower_quantile(-(fold_values + error)[has_level], share)
            low[columns] = np.minimum(lowest, centre[columns])
            high[columns] = np.maximum(highest, centre[columns])
        return np.exp(centre), np.exp(low), np.exp(high)

    def check(self) -> PredictionCheck:
        """Compares every cell with the fit and the interval made without it."""
        known = ~np.isnan(self.residual)
        error = np.abs(self.residual)
        is_covered = np.full(len(error), np.nan)
        for cell in np.unique(self.cell[known]).tolist():
            in_cell = self.cell == cell
            rows, share = self.calibration(bool(self.is_outside[in_cell][0]), excluded_cell=cell)
            if share is not None:
                radius = -_lower_quantile(-error[rows][:, None], share)[0]
                is_covered[in_cell & known] = error[in_cell & known] <= radius
        cell_sizes = np.bincount(self.cell)[self.cell]
        return PredictionCheck(
            cell_count=len(np.unique(self.cell)),
            row_count=int(known.sum()),
            median_error=_median(np.abs(np.expm1(-self.residual[known]))),
            coverage=_mean(is_covered, known),
            cell_coverage=_mean(is_covered, known, 1 / cell_sizes),
            coverage_inside=_mean(is_covered, known & ~self.is_outside),
            coverage_extrapolated=_mean(is_covered, known & self.is_outside),
        )


def predictor(
    frame: pl.DataFrame, benchmark: str, law: FleetLaw, settings: MethodSettings
) -> Predictor | None:
    """Fits a benchmark's law again without each cell; returns None if there is no law.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        law: the law that ``fit_fleet`` fitted to it.
        settings: the settings of that fit.
    """
    if law.reason is not None:
        return None
    data = read_sample(frame, benchmark, settings)
    key = np.column_stack([data.model, data.log_count])
    cells, cell = np.unique(key, axis=0, return_inverse=True)
    cell = cell.reshape(-1).astype(np.int64)
    theta = np.array([np.log(law.half_count), np.log(law.exponent), law.yearly_gain])
    copies = (cell[None, :] != np.arange(len(cells))[:, None]).astype(np.float64)
    fold_theta, fold_levels, _ = solve(data, copies, np.repeat(theta[None], len(cells), axis=0))
    fitted = law_at(data.log_count, data.years, fold_theta) + fold_levels[:, data.model]
    rows = np.arange(len(cell))
    return Predictor(
        data=data,
        theta=theta,
        levels=np.array([law.log_minutes[name] for name in data.models]),
        fold_theta=fold_theta,
        fold_levels=fold_levels,
        cell=cell,
        residual=data.log_minutes - fitted[cell, rows],
        is_outside=_outside(cells)[cell],
    )


def count_grid(data: Sample) -> list[int]:
    """Returns 2^k and 3 x 2^k between the lowest and highest count submitted for the benchmark."""
    low, high = np.round(np.exp([data.log_count.min(), data.log_count.max()]))
    candidates = {factor << shift for factor in (1, 3) for shift in range(24)} - {3, 6, 12}
    return [count for count in sorted(candidates) if low <= count <= high]


def _outside(cells: Floats) -> Bools:
    """Returns whether each cell's count is not between two others of its accelerator: (f,)."""
    result = np.ones(len(cells), dtype=np.bool_)
    for model in np.unique(cells[:, 0]):
        in_model = np.flatnonzero(cells[:, 0] == model)
        result[in_model[1:-1]] = False
    return result


def _lower_quantile(values: Floats, share: float) -> Floats:
    """Returns per column the value that a ``share`` of the rows reaches: (r, c) -> (c,)."""
    ordered = np.sort(values, axis=0)
    rank = int(np.ceil(share * len(values) - 1e-9))
    result: Floats = ordered[len(values) - rank]
    return result


def _mean(values: Floats, where: Bools, weights: Floats | None = None) -> float | None:
    """Returns the weighted mean of the known values ``where`` holds; None without any."""
    use = where & ~np.isnan(values)
    if not use.any():
        return None
    return float(np.average(values[use], weights=None if weights is None else weights[use]))


def _median(values: Floats) -> float | None:
    return float(np.median(values)) if len(values) else None


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
