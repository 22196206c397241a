"""Stage 3 beside other multi-criteria methods, list by list: rows of analysis.sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from gpurank.method.mcdm import compare
from gpurank.method.settings import fields, floats, one_thread
from tasks.method.tables import Rows

# Deleting one of two leaves nothing to reverse.
_MINIMUM_ENTRIES = 3


def rows(ranking: Sequence[Mapping[str, Any]], benchmark: str) -> Rows:
    """Every method on every list of a benchmark.

    Args:
        ranking: its rows of analysis.ranking.
    """
    if not ranking:
        return {"analysis.sensitivity": []}
    round_of = pl.when(pl.col("scope") == "round").then("round_id").alias("list_round_id")
    lists = (
        pl.DataFrame(ranking, infer_schema_length=None)
        .sort("result_id")
        .with_columns(round_of)
        .partition_by("scope", "list_round_id", as_dict=True)
    )
    found: list[dict[str, Any]] = []
    for (scope, round_id), entries in lists.items():
        if len(entries) >= _MINIMUM_ENTRIES:
            place = {"scope": scope, "round_id": round_id, "benchmark": benchmark}
            found += [{**place, **row} for row in _compared(entries)]
    found.sort(key=lambda row: (row["scope"], row["round_id"] or ""))
    return {"analysis.sensitivity": found}


def _compared(entries: pl.DataFrame) -> list[dict[str, Any]]:
    names = ("score_min", "accelerator_minutes", "delay_cost")
    with one_thread():
        found = compare(*(floats(entries, name) for name in names))
    return [
        {
            **fields(result),
            "entry_count": len(entries),
            "first_result_id": entries["result_id"][result.first],
            "first_rank": entries["rank"][result.first],
        }
        for result in found
    ]
