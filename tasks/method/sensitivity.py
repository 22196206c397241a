"""Compares stage 3 with other multi-criteria methods, list by list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from gpurank.method.configurations import floats
from gpurank.method.mcdm import compare
from tasks.method.tables import Rows

# Deleting one of two entries leaves nothing to reverse.
_MINIMUM_ENTRIES = 3


def compare_methods(ranking: Sequence[Mapping[str, Any]], benchmark: str) -> Rows:
    """Returns rows of analysis.sensitivity: every method on every list of a benchmark.

    Args:
        ranking: its rows of analysis.ranking.
        benchmark: canonical name.
    """
    if not ranking:
        return {"analysis.sensitivity": []}
    round_id = pl.when(pl.col("scope") == "round").then("round_id").alias("list_round_id")
    lists = (
        pl.DataFrame(ranking, infer_schema_length=None)
        .sort("result_id")
        .with_columns(round_id)
        .partition_by("scope", "list_round_id", as_dict=True)
    )
    rows: list[dict[str, Any]] = []
    for (scope, list_round_id), entries in lists.items():
        if len(entries) >= _MINIMUM_ENTRIES:
            key = {"scope": scope, "round_id": list_round_id, "benchmark": benchmark}
            rows += [{**key, **row} for row in _compare(entries)]
    rows.sort(key=lambda row: (row["scope"], row["round_id"] or ""))
    return {"analysis.sensitivity": rows}


def _compare(entries: pl.DataFrame) -> list[dict[str, Any]]:
    costs = (floats(entries, name) for name in ("score_min", "accelerator_minutes", "delay_cost"))
    return [
        {
            **asdict(result),
            "entry_count": len(entries),
            "first_result_id": entries["result_id"][result.first],
            "first_rank": entries["rank"][result.first],
        }
        for result in compare(*costs)
    ]
