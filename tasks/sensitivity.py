"""Compare stage 3 with other multi-criteria methods, list by list: analysis.sensitivity."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import duckdb
import polars as pl

from gpurank.method.mcdm import compare
from gpurank.method.settings import MethodSettings, floats, one_thread
from gpurank.settings import Settings
from tasks.configuration import read, write

# Deleting one of two leaves nothing to reverse.
_MINIMUM_ENTRIES = 3


def run(con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings) -> dict[str, Any]:
    """Run every method on every list of analysis.ranking.

    Returns:
        lists compared, rows written.
    """
    ranked = read(con, "SELECT * FROM analysis.ranking ORDER BY result_id")
    round_of = pl.when(pl.col("scope") == "round").then("round_id").alias("list_round_id")
    lists = ranked.with_columns(round_of).partition_by(
        "scope", "list_round_id", "benchmark", as_dict=True
    )
    rows: list[dict[str, Any]] = []
    for (scope, round_id, benchmark), entries in lists.items():
        if len(entries) >= _MINIMUM_ENTRIES:
            place = {"scope": scope, "round_id": round_id, "benchmark": benchmark}
            rows += [{**place, **row} for row in _compared(entries)]
    rows.sort(key=lambda row: (row["scope"], row["round_id"] or "", row["benchmark"]))
    return {"lists": len(lists), "rows": write(con, "analysis.sensitivity", rows)}


def _compared(entries: pl.DataFrame) -> list[dict[str, Any]]:
    names = ("score_min", "accelerator_minutes", "delay_cost")
    with one_thread(1):
        found = compare(*(floats(entries, name) for name in names))
    return [
        {
            **asdict(result),
            "entry_count": len(entries),
            "first_result_id": entries["result_id"][result.first],
            "first_rank": entries["rank"][result.first],
        }
        for result in found
    ]
