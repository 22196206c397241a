"""The fleet law of one benchmark, its break-even counts, predictions and checks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from gpurank.method.fleet import LEVELS, FleetLaw, fit_fleet
from gpurank.method.model_scaling import model_scaling
from gpurank.method.prediction import count_grid, predictor
from gpurank.method.settings import MethodSettings
from tasks.method.tables import Rows

# Counts whose efficiency analysis.fleet_law has columns for.
_COUNTS = (64, 512)


def fit_fleet_law(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Rows:
    """Returns rows of analysis.fleet_law and of the tables that follow from it.

    These are break_even, fleet_result, model_scaling, prediction and prediction_check. A benchmark
    without a law has one row of fleet_law, with the reason.

    Args:
        frame: rows of metrics.configuration, of this benchmark at least.
        benchmark: canonical name.
        settings: of the method.
    """
    law = fit_fleet(frame, benchmark, settings)
    model = predictor(frame, benchmark, law, settings)
    predictions = model.predict(count_grid(model.data)) if model else []
    checks = [model.check()] if model else []
    rows: dict[str, list[Any]] = {
        "analysis.fleet_result": list(law.rows),
        "analysis.model_scaling": model_scaling(frame, benchmark),
        "analysis.prediction": predictions,
        "analysis.prediction_check": checks,
    }
    return {
        "analysis.fleet_law": [{**_law(law), "bootstrap_count": settings.fleet_bootstraps}],
        "analysis.break_even": _break_even(law) if law.reason is None else [],
        **{
            table: [{"benchmark": benchmark, **asdict(value)} for value in values]
            for table, values in rows.items()
        },
    }


def _law(law: FleetLaw) -> dict[str, Any]:
    is_fitted = law.reason is None
    row: dict[str, Any] = {
        "benchmark": law.benchmark,
        "row_count": law.row_count,
        "submitter_count": law.submitter_count,
        "estimated_date_count": law.estimated_date_count,
        "half_count": law.half_count if is_fitted else None,
        "exponent": law.exponent if is_fitted else None,
        "yearly_gain": law.yearly_gain if is_fitted else None,
        "reason": law.reason,
    }
    for count in _COUNTS:
        low, high = law.efficiency_interval(count) if is_fitted else (None, None)
        row[f"efficiency_{count}"] = law.efficiency(count) if is_fitted else None
        row[f"efficiency_{count}_low"] = low
        row[f"efficiency_{count}_high"] = high
    return row


def _break_even(law: FleetLaw) -> list[dict[str, Any]]:
    rows = []
    for level in LEVELS:
        count, low, high = law.break_even(level)
        rows.append(
            {
                "benchmark": law.benchmark,
                "fleet_efficiency": level,
                "accelerator_count": count,
                "count_low": low,
                "count_high": high,
            }
        )
    return rows
