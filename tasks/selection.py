"""Run stage 1 on every benchmark of a warehouse: analysis.selection."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import duckdb

from gpurank.method import MethodSettings, benchmarks, method_settings
from gpurank.selection import TARGETS, Selection, select
from gpurank.settings import Settings
from tasks.configuration import read_configuration, write


def run(con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings) -> dict[str, Any]:
    """Select variables per benchmark and target; write analysis.selection.

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
    rows = [row for selection in found for row in _rows(selection)]
    return {
        "benchmarks": sorted({s.benchmark for s in found if s.reason is None}),
        "refused": sorted({s.benchmark for s in found if s.reason is not None}),
        "rows": write(con, "analysis.selection", rows),
    }


def _rows(selection: Selection) -> list[dict[str, Any]]:
    shape = {
        "benchmark": selection.benchmark,
        "target": selection.target,
        "row_count": selection.row_count,
        "submitter_count": selection.submitter_count,
    }
    return [{**shape, **asdict(variable)} for variable in selection.variables]
