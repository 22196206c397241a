"""Stage 2 on one benchmark: clusters configurations and describes the clusters."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import polars as pl

from gpurank.method.cluster_count import CountProfile, count_note, count_profile
from gpurank.method.clustering import Clustering, ClusterProfile, cluster, profile
from gpurank.method.configurations import analysis_set, floats
from gpurank.method.settings import MethodSettings
from tasks.method.tables import Rows


def cluster_configurations(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Rows:
    """Returns rows of analysis.cluster, cluster_profile and cluster_count.

    A benchmark without clusters has one row of cluster_profile, with the reason.

    Args:
        frame: rows of metrics.configuration, of this benchmark at least.
        benchmark: canonical name.
        settings: of the method.
    """
    rows = analysis_set(frame, benchmark)
    clustering = cluster(rows, benchmark, settings)
    if clustering.features is None:
        return {
            "analysis.cluster": [],
            "analysis.cluster_profile": [_without_clusters(clustering, len(rows))],
            "analysis.cluster_count": [],
        }
    counts = count_profile(
        clustering.features.values,
        floats(rows, "score_min"),
        rows["submitter"].fill_null("").to_list(),
        benchmark,
        settings,
        clustering,
    )
    return {
        "analysis.cluster": [
            {"benchmark": benchmark, "result_id": result_id, "cluster_label": int(label)}
            for result_id, label in zip(clustering.result_ids, clustering.labels, strict=True)
        ],
        "analysis.cluster_profile": _profiles(clustering, rows, counts, settings),
        "analysis.cluster_count": [
            {
                "benchmark": benchmark,
                **asdict(count),
                "is_chosen": count.cluster_count == settings.cluster_count,
                "bootstrap_count": settings.cluster_bootstraps,
            }
            for count in counts
        ],
    }


def _profiles(
    clustering: Clustering,
    rows: pl.DataFrame,
    counts: list[CountProfile],
    settings: MethodSettings,
) -> list[dict[str, Any]]:
    chosen = next((c for c in counts if c.cluster_count == settings.cluster_count), None)
    jaccard = chosen.jaccard if chosen else None
    note = count_note(counts, settings.cluster_count)
    return [
        {
            **asdict(cluster_profile),
            "benchmark": clustering.benchmark,
            "jaccard": jaccard[cluster_profile.cluster_label - 1] if jaccard else None,
            "inertia": clustering.inertia,
            "is_count_stable": chosen.is_stable if chosen else None,
            "count_note": note,
            "row_count": len(rows),
            "reason": None,
        }
        for cluster_profile in profile(clustering, rows, settings)
    ]


def _without_clusters(clustering: Clustering, row_count: int) -> dict[str, Any]:
    names = [field.name for field in fields(ClusterProfile)]
    blank = dict.fromkeys([*names, "jaccard", "inertia", "is_count_stable", "count_note"])
    return {
        **blank,
        "benchmark": clustering.benchmark,
        "row_count": row_count,
        "reason": clustering.reason,
    }
