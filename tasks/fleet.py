"""Fit the fleet law and predict with it: analysis.fleet_law, break_even, fleet_result,
model_scaling, prediction and prediction_check."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import duckdb
import polars as pl

from gpurank.method.fleet import LEVELS, FleetLaw, fit_fleet
from gpurank.method.modelfit import model_scaling
from gpurank.method.prediction import count_grid, predictor
from gpurank.method.settings import MethodSettings, benchmarks, method_settings
from gpurank.settings import Settings
from tasks.configuration import read_configuration, write


def run(con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings) -> dict[str, Any]:
    """Fit each benchmark's fleet law and its models' own scaling; write the six tables.

    Returns:
        benchmarks fitted, those refused with the reason.
    """
    settings = method_settings(settings)
    frame = read_configuration(con)
    laws = [fit_fleet(frame, benchmark, settings) for benchmark in benchmarks(frame)]
    fitted = [law for law in laws if law.reason is None]
    write(con, "analysis.fleet_law", [_law(law) for law in laws])
    write(con, "analysis.break_even", [row for law in fitted for row in _levels(law)])
    write(
        con,
        "analysis.fleet_result",
        [{"benchmark": law.benchmark, **asdict(row)} for law in fitted for row in law.rows],
    )
    models = [
        {"benchmark": benchmark, **asdict(model)}
        for benchmark in benchmarks(frame)
        for model in model_scaling(frame, benchmark)
    ]
    write(con, "analysis.model_scaling", models)
    _predict(con, frame, fitted, settings)
    refused = {law.benchmark: law.reason for law in laws if law.reason is not None}
    return {"benchmarks": [law.benchmark for law in fitted], "refused": refused}


def _predict(
    con: duckdb.DuckDBPyConnection,
    frame: pl.DataFrame,
    laws: list[FleetLaw],
    settings: MethodSettings,
) -> None:
    predicted: list[dict[str, Any]] = []
    checks: list[dict[str, Any]] = []
    for law in laws:
        made = predictor(frame, law.benchmark, law, settings)
        if made is None:
            continue
        place = {"benchmark": law.benchmark}
        predicted += [{**place, **asdict(p)} for p in made.predict(count_grid(made.data))]
        checks.append({**place, **asdict(made.check())})
    write(con, "analysis.prediction", predicted)
    write(con, "analysis.prediction_check", checks)


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
