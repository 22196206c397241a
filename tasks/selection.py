"""Run stage 1 on every benchmark of a warehouse: analysis.selection and matched_cpu."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import duckdb
import polars as pl

from gpurank.method.importance import group_importance, matched_cpu
from gpurank.method.selection import TARGETS, Selection, select
from gpurank.method.settings import MethodSettings, benchmarks, method_settings
from gpurank.settings import Settings
from tasks.configuration import read_configuration, write


def run(con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings) -> dict[str, Any]:
    """Select variables per benchmark and target; write analysis.selection and matched_cpu.

    Returns:
        benchmarks selected for, benchmarks with too little data, rows written.
    """
    settings = method_settings(settings)
    frame = read_configuration(con)
    found = [
        select(frame, benchmark, target, settings)
        for benchmark in benchmarks(frame)
        for target in TARGETS
    ]
    rows = [row for selection in found for row in _rows(frame, selection, settings)]
    matched = [
        {"benchmark": benchmark, **asdict(effect)}
        for benchmark in benchmarks(frame)
        for effect in matched_cpu(frame, benchmark, settings)
    ]
    write(con, "analysis.matched_cpu", matched)
    return {
        "benchmarks": sorted({s.benchmark for s in found if s.reason is None}),
        "refused": sorted({s.benchmark for s in found if s.reason is not None}),
        "rows": write(con, "analysis.selection", rows),
    }


def _rows(
    frame: pl.DataFrame, selection: Selection, settings: MethodSettings
) -> list[dict[str, Any]]:
    by_submitter = group_importance(frame, selection, "submitter", settings) or {}
    by_family = group_importance(frame, selection, "accelerator_family", settings) or {}
    shape = {
        "benchmark": selection.benchmark,
        "target": selection.target,
        "row_count": selection.row_count,
        "submitter_count": selection.submitter_count,
    }
    return [
        {
            **shape,
            **asdict(variable),
            "importance_submitter": by_submitter.get(variable.group_id or 0),
            "importance_family": by_family.get(variable.group_id or 0),
        }
        for variable in selection.variables
    ]
