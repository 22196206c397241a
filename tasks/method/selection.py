"""Stage 1 on one benchmark: rows of analysis.selection and analysis.matched_cpu."""

from __future__ import annotations

from typing import Any

import polars as pl

from gpurank.method.importance import group_importance, matched_cpu
from gpurank.method.selection import TARGETS, Selection, select
from gpurank.method.settings import MethodSettings, fields
from tasks.method.tables import Rows


def rows(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Rows:
    """Variables of each target, with their importance beside them; matched host effects.

    Args:
        frame: metrics.configuration, of this benchmark at least.
    """
    found = [select(frame, benchmark, target, settings) for target in TARGETS]
    return {
        "analysis.selection": [row for one in found for row in _variables(frame, one, settings)],
        "analysis.matched_cpu": [
            {"benchmark": benchmark, **fields(effect)}
            for effect in matched_cpu(frame, benchmark, settings)
        ],
    }


def _variables(
    frame: pl.DataFrame, selection: Selection, settings: MethodSettings
) -> list[dict[str, Any]]:
    by_submitter: dict[int, float] = {}
    by_family: dict[int, float] = {}
    # A forest's trees are grown on bootstraps of the rows.
    if settings.selection_bootstraps:
        by_submitter = group_importance(frame, selection, "submitter", settings) or {}
        by_family = group_importance(frame, selection, "accelerator_family", settings) or {}
    shape = {
        "benchmark": selection.benchmark,
        "target": selection.target,
        "row_count": selection.row_count,
        "submitter_count": selection.submitter_count,
        "bootstrap_count": settings.selection_bootstraps,
    }
    return [
        {
            **shape,
            **fields(variable),
            "importance_submitter": by_submitter.get(variable.group_id or 0),
            "importance_family": by_family.get(variable.group_id or 0),
        }
        for variable in selection.variables
    ]
