"""Stage 2 on one benchmark: rows of analysis.cluster, cluster_profile and cluster_count."""

from __future__ import annotations

from typing import Any

import polars as pl

from gpurank.method.cluster_count import CountProfile, count_note, count_profile
from gpurank.method.clustering import Clustering, ClusterProfile, cluster, profile
from gpurank.method.settings import MethodSettings, analysis_set, fields, floats
from tasks.method.tables import Rows


def rows(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Rows:
    """Members, profiles and what speaks for each k; where there are no clusters, the reason.

    Args:
        frame: metrics.configuration, of this benchmark at least.
    """
    known = analysis_set(frame, benchmark)
    found = cluster(known, benchmark, settings)
    if found.features is None:
        refused = [_refusal(found, len(known))]
        return {"analysis.cluster": [], "analysis.cluster_profile": refused,
                "analysis.cluster_count": []}  # fmt: skip
    owners = known["submitter"].fill_null("").to_list()
    scores = count_profile(
        found.features.values, floats(known, "score_min"), owners, benchmark, settings, found
    )
    return {
        "analysis.cluster": _members(found),
        "analysis.cluster_profile": _profiles(found, known, scores, settings),
        "analysis.cluster_count": [
            {"benchmark": benchmark, **fields(score),
             "is_chosen": score.cluster_count == settings.cluster_count,
             "bootstrap_count": settings.cluster_bootstraps}
            for score in scores
        ],
    }  # fmt: skip


def _members(found: Clustering) -> list[dict[str, Any]]:
    return [
        {"benchmark": found.benchmark, "result_id": name, "cluster_label": int(label)}
        for name, label in zip(found.result_ids, found.labels, strict=True)
    ]


def _profiles(
    found: Clustering, rows: pl.DataFrame, scores: list[CountProfile], settings: MethodSettings
) -> list[dict[str, Any]]:
    chosen = next((s for s in scores if s.cluster_count == settings.cluster_count), None)
    jaccard = chosen.jaccard if chosen else None
    note = count_note(scores, settings.cluster_count)
    return [
        {
            **fields(entry),
            "benchmark": found.benchmark,
            "jaccard": jaccard[entry.cluster_label - 1] if jaccard else None,
            "inertia": found.inertia,
            "is_count_stable": chosen.is_stable if chosen else None,
            "count_note": note,
            "row_count": len(rows),
            "reason": None,
        }
        for entry in profile(found, rows, settings)
    ]


def _refusal(found: Clustering, row_count: int) -> dict[str, Any]:
    more = ("jaccard", "inertia", "is_count_stable", "count_note")
    blank = dict.fromkeys((*ClusterProfile.__dataclass_fields__, *more))
    return {**blank, "benchmark": found.benchmark, "row_count": row_count, "reason": found.reason}
