"""Stage 3 on one benchmark: ranks the results of each round and of all rounds together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from gpurank.method.clustering import restore
from gpurank.method.ranking import Noise, noise, rank, unrankable_reason
from gpurank.method.settings import MethodSettings
from tasks.method.tables import Rows


def rank_configurations(
    frame: pl.DataFrame,
    benchmark: str,
    clusters: Sequence[Mapping[str, Any]],
    settings: MethodSettings,
) -> Rows:
    """Returns rows of analysis.ranking and analysis.unranked.

    Args:
        frame: rows of metrics.configuration, of this benchmark only.
        benchmark: canonical name.
        clusters: its rows of analysis.cluster.
        settings: of the method.
    """
    labels = _labels(frame, clusters, benchmark, settings)
    benchmark_noise = noise(frame, settings)
    keys = frame.select("result_id", "round_id", "benchmark")
    unranked = unrankable_reason(frame).join(keys, on="result_id").sort("result_id")
    return {
        "analysis.ranking": [
            row
            for scope, entries in _lists(frame)
            for row in _ranked(scope, entries, benchmark_noise, labels, settings)
        ],
        "analysis.unranked": unranked.to_dicts(),
    }


def _lists(frame: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Returns (scope, entries) of each round's list and of the pooled analysis set."""
    listed = frame.filter("is_in_round_list")
    rounds = listed.sort("round_index")["round_id"].unique(maintain_order=True)
    return [
        *(("round", listed.filter(pl.col("round_id") == round_id)) for round_id in rounds),
        ("pooled", frame.filter("is_in_analysis_set")),
    ]


def _ranked(
    scope: str,
    entries: pl.DataFrame,
    benchmark_noise: Noise,
    labels: dict[str, int | None],
    settings: MethodSettings,
) -> list[dict[str, Any]]:
    keys = {
        result_id: {"scope": scope, "round_id": round_id, "benchmark": benchmark}
        for result_id, round_id, benchmark in entries.select(
            "result_id", "round_id", "benchmark"
        ).rows()
    }
    ranked = rank(entries, benchmark_noise, settings)
    ranks: dict[int | None, list[int]] = {}
    for entry in ranked:
        ranks.setdefault(labels[entry.result_id], []).append(entry.rank)
    rows = []
    for entry in ranked:
        label = labels[entry.result_id]
        # Equal entries share the lowest rank of their cluster, as they do in the whole list.
        cluster_rank = None if label is None else 1 + ranks[label].index(entry.rank)
        rows.append(
            {
                **keys[entry.result_id],
                **asdict(entry),
                "site_log_sd": benchmark_noise.site_sd,
                "cluster_label": label,
                "cluster_rank": cluster_rank,
            }
        )
    return rows


def _labels(
    frame: pl.DataFrame,
    clusters: Sequence[Mapping[str, Any]],
    benchmark: str,
    settings: MethodSettings,
) -> dict[str, int | None]:
    """Returns the nearest cluster of every row of the clusters' comparable span, refiled or not."""
    members = pl.DataFrame(
        [(row["result_id"], row["cluster_label"]) for row in clusters],
        {"result_id": pl.String, "cluster_label": pl.Int64},
        orient="row",
    )
    clustered = frame.join(members, on="result_id")
    nearest = restore(clustered, benchmark, settings).label(frame)
    spans = pl.Series(clustered["span_id"].unique())
    is_comparable = frame["span_id"].is_in(spans.implode()).fill_null(False).to_list()
    return {
        result_id: label if comparable else None
        for result_id, label, comparable in zip(
            frame["result_id"], nearest, is_comparable, strict=True
        )
    }
