"""Stage 1 on one benchmark: selects variables, with their importance and the matched host test."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from gpurank.method.importance import group_importance, matched_cpu
from gpurank.method.selection import TARGETS, Selection, select
from gpurank.method.settings import MethodSettings
from tasks.method.tables import Rows


def select_variables(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Rows:
    """Returns rows of analysis.selection and analysis.matched_cpu.

    Args:
        frame: rows of metrics.configuration, of this benchmark at least.
        benchmark: canonical name.
        settings: of the method.
    """
    selections = [select(frame, benchmark, target, settings) for target in TARGETS]
    effects = matched_cpu(frame, benchmark, settings)
    return {
        "analysis.selection": [
            row for selection in selections for row in _variables(frame, selection, settings)
        ],
        "analysis.matched_cpu": [{"benchmark": benchmark, **asdict(effect)} for effect in effects],
    }


def _variables(
    frame: pl.DataFrame, selection: Selection, settings: MethodSettings
) -> list[dict[str, Any]]:
    by_submitter: dict[int, float] = {}
    by_family: dict[int, float] = {}
    # A random forest resamples rows, so without bootstraps there is no importance either.
    if settings.selection_bootstraps:
        by_submitter = group_importance(frame, selection, "submitter", settings) or {}
        by_family = group_importance(frame, selection, "accelerator_family", settings) or {}
    return [
        {
            "benchmark": selection.benchmark,
            "target": selection.target,
            "row_count": selection.row_count,
            "submitter_count": selection.submitter_count,
            "bootstrap_count": settings.selection_bootstraps,
            **asdict(variable),
            "importance_submitter": by_submitter.get(variable.group_id or 0),
            "importance_family": by_family.get(variable.group_id or 0),
        }
        for variable in selection.variables
    ]
