"""The fleet law of one benchmark and what follows from it: rows of analysis.fleet_law, break_even,
fleet_result, model_scaling, prediction and prediction_check."""

from __future__ import annotations

from typing import Any

import polars as pl

from gpurank.method.fleet import LEVELS, FleetLaw, fit_fleet
from gpurank.method.model_scaling import model_scaling
from gpurank.method.prediction import count_grid, predictor
from gpurank.method.settings import MethodSettings, fields
from tasks.method.tables import Rows


def rows(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Rows:
    """The law or why there is none, its models' own scaling, and predictions with their check.

    Args:
        frame: metrics.configuration, of this benchmark at least.
    """
    law = fit_fleet(frame, benchmark, settings)
    made = predictor(frame, benchmark, law, settings)
    place = {"benchmark": benchmark}
    predicted = made.predict(count_grid(made.data)) if made else []
    return {
        "analysis.fleet_law": [{**_law(law), "bootstrap_count": settings.fleet_bootstraps}],
        "analysis.break_even": _levels(law) if law.reason is None else [],
        "analysis.fleet_result": [{**place, **fields(row)} for row in law.rows],
        "analysis.model_scaling": [
            {**place, **fields(model)} for model in model_scaling(frame, benchmark)
        ],
        "analysis.prediction": [{**place, **fields(row)} for row in predicted],
        "analysis.prediction_check": [{**place, **fields(made.check())}] if made else [],
    }


def _law(law: FleetLaw) -> dict[str, Any]:
    counts = ("benchmark", "row_count", "submitter_count", "estimated_date_count")
    row: dict[str, Any] = {name: getattr(law, name) for name in counts}
    known = law.reason is None
    for name in ("half_count", "exponent", "yearly_gain"):
        row[name] = getattr(law, name) if known else None
    for count in (64, 512):
        low, high = law.efficiency_interval(count) if known else (None, None)
        row[f"efficiency_{count}"] = law.efficiency(count) if known else None
        row[f"efficiency_{count}_low"], row[f"efficiency_{count}_high"] = low, high
    return {**row, "reason": law.reason}


def _levels(law: FleetLaw) -> list[dict[str, Any]]:
    result = []
    for level in LEVELS:
        count, low, high = law.break_even(level)
        place = {"benchmark": law.benchmark, "fleet_efficiency": level}
        found = {"accelerator_count": count, "count_low": low, "count_high": high}
        result.append({**place, **found})
    return result
