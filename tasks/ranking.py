"""Run stage 3 on every benchmark of a warehouse: analysis.ranking and analysis.unranked."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import duckdb
import polars as pl

from gpurank.method.clustering import restore
from gpurank.method.ranking import Noise, noise, rank, unrankable_reason
from gpurank.method.settings import MethodSettings, benchmarks, method_settings
from gpurank.settings import Settings
from tasks.configuration import read, read_configuration, write


def run(con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings) -> dict[str, Any]:
    """Rank every round's list and the pooled analysis set; needs analysis.cluster.

    Returns:
        lists made, rows written, results that stand in no list.
    """
    settings = method_settings(settings)
    frame = read_configuration(con)
    members = read(con, "SELECT result_id, cluster_label FROM analysis.cluster")
    rows: list[dict[str, Any]] = []
    lists = 0
    for benchmark in benchmarks(frame):
        entries = frame.filter(pl.col("benchmark") == benchmark)
        labels = _labels(entries, members, benchmark, settings)
        errors = noise(entries, settings)
        for scope, part in _lists(entries):
            ranked = _ranked(scope, part, errors, labels, settings)
            lists += bool(ranked)
            rows += ranked
    place = frame.select("result_id", "round_id", "benchmark")
    without = unrankable_reason(frame).join(place, on="result_id").sort("result_id").to_dicts()
    return {
        "lists": lists,
        "rows": write(con, "analysis.ranking", rows),
        "unranked": write(con, "analysis.unranked", without),
    }


def _lists(entries: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    listed = entries.filter("is_in_round_list")
    rounds = listed.sort("round_index")["round_id"].unique(maintain_order=True)
    return [
        *(("round", listed.filter(pl.col("round_id") == name)) for name in rounds),
        ("pooled", entries.filter("is_in_analysis_set")),
    ]


def _ranked(
    scope: str,
    part: pl.DataFrame,
    errors: Noise,
    labels: dict[str, int | None],
    settings: MethodSettings,
) -> list[dict[str, Any]]:
    place = {
        name: {"scope": scope, "round_id": round_id, "benchmark": benchmark}
        for name, round_id, benchmark in part.select("result_id", "round_id", "benchmark").rows()
    }
    ranked = rank(part, errors, settings)
    ranks: dict[int | None, list[int]] = {}
    for entry in ranked:
        ranks.setdefault(labels[entry.result_id], []).append(entry.rank)
    return [
        {
            **place[entry.result_id],
            **asdict(entry),
            "site_log_sd": errors.site_sd,
            "cluster_label": (label := labels[entry.result_id]),
            # Of equals all get the lower rank, as in the whole list.
            "cluster_rank": None if label is None else 1 + ranks[label].index(entry.rank),
        }
        for entry in ranked
    ]


def _labels(
    entries: pl.DataFrame, members: pl.DataFrame, benchmark: str, settings: MethodSettings
) -> dict[str, int | None]:
    """Cluster labels; a row outside the fit (refiled) that may be compared gets the nearest."""
    fitted = entries.join(members, on="result_id")
    clusters = restore(fitted, benchmark, settings)
    comparable = pl.Series(fitted["span_id"].unique())
    nearest = clusters.label(entries)
    inside = entries["span_id"].is_in(comparable.implode()).fill_null(False).to_list()
    return {
        name: label if is_inside else None
        for name, label, is_inside in zip(entries["result_id"], nearest, inside, strict=True)
    }
