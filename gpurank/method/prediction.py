"""Predicted time to train of an accelerator at a count that nobody has filed, with its interval.

The fleet law gives the number; conformal intervals say how far it was off where cells (accelerator
and count) were left out of the fit. docs/method.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from gpurank.method.fleet import FleetLaw
from gpurank.method.robust_fit import Sample, law_at, sample, solve
from gpurank.method.settings import Bools, Floats, Ints, MethodSettings, one_thread

_COVERAGE = 0.90
# Fewer left-out cells make no interval; fewer of one kind (inside or outside the filed range) none
# of its own.
_MINIMUM_CELLS = 10


@dataclass(frozen=True, slots=True)
class Prediction:
    """One accelerator at one count; field names are columns of analysis.prediction.

    ``software_round_id`` is the last round that filed the accelerator, whose software is assumed.
    ``is_extrapolated``: the count lies outside those filed on it. ``score_low_min`` and
    ``score_high_min`` hold 90 %; None where too few cells were filed to measure it.
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
    """How well cells left out are predicted; field names are columns of analysis.prediction_check.

    ``median_error`` is the median of |predicted T / T - 1| over results. ``coverage`` is the share
    of results inside the interval made without their cell, ``cell_coverage`` the same with every
    cell counting once; ``_inside`` and ``_extrapolated`` part them by whether the left-out count
    lies inside those that remain of its accelerator.
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

    ``fold_theta`` (f, 3) and ``fold_levels`` (f, m) are fits without cell f, ``cell`` (n,) the cell
    of each row, ``residual`` (n,) ln AM minus that fit's (nan where no other cell has the
    accelerator), ``is_outside`` (n,) whether the row's count is outside its accelerator's others.
    """

    data: Sample
    theta: Floats
    levels: Floats
    fold_theta: Floats
    fold_levels: Floats
    cell: Ints
    residual: Floats
    is_outside: Bools

    def calibration(self, is_outside: bool, but: int | None = None) -> tuple[Ints, float | None]:
        """Rows whose residuals tell the error of a kind of prediction, and the quantile to take.

        With n rows the quantile is 0.9 (n + 1) / n; None with fewer than ten cells.
        """
        usable = ~np.isnan(self.residual) & (self.cell != (-1 if but is None else but))
        own = usable & (self.is_outside == is_outside)
        if len(np.unique(self.cell[own])) >= _MINIMUM_CELLS:
            usable = own
        rows = np.flatnonzero(usable)
        if len(np.unique(self.cell[rows])) < _MINIMUM_CELLS:
            return rows, None
        return rows, _COVERAGE * (len(rows) + 1) / len(rows)

    def predict(self, counts: list[int]) -> list[Prediction]:
        """Every accelerator at every count, by name and count."""
        found = []
        for number, name in enumerate(self.data.models):
            own = self.data.model == number
            filed = np.round(np.exp(self.data.log_count[own])).astype(int)
            low, high = int(filed.min()), int(filed.max())
            newest = int(np.flatnonzero(own)[self.data.years[own].argmax()])
            outside = np.array([not low <= count <= high for count in counts])
            centre, under, over = self._minutes(number, self.data.years[newest], counts, outside)
            for i, count in enumerate(counts):
                found.append(
                    Prediction(
                        accelerator=name,
                        accelerator_count=count,
                        score_min=float(centre[i] / count),
                        score_low_min=_finite(under[i] / count),
                        score_high_min=_finite(over[i] / count),
                        accelerator_minutes=float(centre[i]),
                        is_filed=count in filed,
                        is_extrapolated=bool(outside[i]),
                        filed_count_low=low,
                        filed_count_high=high,
                        software_round_id=str(self.data.frame["round_id"][newest]),
                    )
                )
        return found

    def _minutes(
        self, model: int, years: float, counts: list[int], outside: Bools
    ) -> tuple[Floats, Floats, Floats]:
        """Accelerator-minutes and their interval, nan where there is none (CV+ of Barber et al.)"""
        at = np.log(np.array(counts, dtype=np.float64))
        when = np.full(len(counts), years)
        centre = law_at(at, when, self.theta[None])[0] + self.levels[model]
        folds = law_at(at, when, self.fold_theta) + self.fold_levels[:, [model]]
        low, high = np.full((2, len(counts)), np.nan)
        for kind in (False, True):
            rows, share = self.calibration(kind)
            here = np.flatnonzero(outside == kind)
            if share is None or not len(here):
                continue
            from_fold = folds[np.ix_(self.cell[rows], here)]
            error = np.abs(self.residual[rows])[:, None]
            # A fold without this accelerator has no level for it and says nothing.
            known = ~np.isnan(from_fold[:, 0])
            low[here] = np.minimum(_lower((from_fold - error)[known], share), centre[here])
            high[here] = np.maximum(-_lower(-(from_fold + error)[known], share), centre[here])
        return np.exp(centre), np.exp(low), np.exp(high)

    def check(self) -> PredictionCheck:
        """Every cell against the fit and the interval made without it."""
        known = ~np.isnan(self.residual)
        error = np.abs(self.residual)
        covered = np.full(len(error), np.nan)
        for cell in np.unique(self.cell[known]).tolist():
            inside = self.cell == cell
            rows, share = self.calibration(bool(self.is_outside[inside][0]), but=cell)
            if share is not None:
                radius = -_lower(-error[rows][:, None], share)[0]
                covered[inside & known] = error[inside & known] <= radius
        size = np.bincount(self.cell)[self.cell]
        return PredictionCheck(
            cell_count=len(np.unique(self.cell)),
            row_count=int(known.sum()),
            median_error=_median(np.abs(np.expm1(-self.residual[known]))),
            coverage=_mean(covered, known),
            cell_coverage=_mean(covered, known, 1 / size),
            coverage_inside=_mean(covered, known & ~self.is_outside),
            coverage_extrapolated=_mean(covered, known & self.is_outside),
        )


def predictor(
    frame: pl.DataFrame, benchmark: str, law: FleetLaw, settings: MethodSettings
) -> Predictor | None:
    """Refit a benchmark's law without each cell; None where there is no law.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        law: fitted to it by ``fit_fleet``.
        settings: of that fit.
    """
    if law.reason is not None:
        return None
    data = sample(frame, benchmark, settings)
    key = np.column_stack([data.model, data.log_count])
    cells, cell = np.unique(key, axis=0, return_inverse=True)
    cell = cell.reshape(-1).astype(np.int64)
    theta = np.array([np.log(law.half_count), np.log(law.exponent), law.yearly_gain])
    copies = (cell[None, :] != np.arange(len(cells))[:, None]).astype(np.float64)
    with one_thread():
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
    """Powers of two and halfway between them, inside the counts filed for the benchmark."""
    low, high = np.round(np.exp([data.log_count.min(), data.log_count.max()]))
    steps = [base << shift for base in (1, 3) for shift in range(24)]
    return [count for count in sorted(set(steps) - {3, 6, 12}) if low <= count <= high]


def _outside(cells: Floats) -> Bools:
    """Whether a cell's count is not between two others of its accelerator: (f,) for (f, 2)."""
    result = np.ones(len(cells), dtype=np.bool_)
    for model in np.unique(cells[:, 0]):
        own = np.flatnonzero(cells[:, 0] == model)
        result[own[1:-1]] = False
    return result


def _lower(values: Floats, share: float) -> Floats:
    """Per column, the value that a ``share`` of the rows is at least: (r, c) -> (c,)."""
    ordered = np.sort(values, axis=0)
    rank = int(np.ceil(share * len(values) - 1e-9))
    result: Floats = ordered[len(values) - rank]
    return result


def _mean(values: Floats, where: Bools, weights: Floats | None = None) -> float | None:
    use = where & ~np.isnan(values)
    if not use.any():
        return None
    return float(np.average(values[use], weights=None if weights is None else weights[use]))


def _median(values: Floats) -> float | None:
    return float(np.median(values)) if len(values) else None


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
