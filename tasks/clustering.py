"""Run stage 2 on every benchmark: analysis.cluster, cluster_profile and cluster_count."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import duckdb
import polars as pl

from gpurank.method.cluster_count import CountProfile, count_note, count_profile
from gpurank.method.clustering import Clustering, ClusterProfile, cluster, profile
from gpurank.method.settings import (
    MethodSettings,
    analysis_set,
    benchmarks,
    floats,
    method_settings,
)
from gpurank.settings import Settings
from tasks.configuration import read_configuration, write


def run(con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings) -> dict[str, Any]:
    """Cluster each benchmark's analysis set; write the three tables.

    Returns:
        benchmarks clustered, those refused with the reason, members.
    """
    settings = method_settings(settings)
    frame = read_configuration(con)
    members: list[dict[str, Any]] = []
    profiles: list[dict[str, Any]] = []
    counts: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    clustered = []
    for benchmark in benchmarks(frame):
        rows = analysis_set(frame, benchmark)
        found = cluster(rows, benchmark, settings)
        if found.features is None:
            refused[benchmark] = found.reason or ""
            profiles.append(_refusal(found, len(rows)))
            continue
        clustered.append(benchmark)
        owners = rows["submitter"].fill_null("").to_list()
        scores = count_profile(
            found.features.values, floats(rows, "score_min"), owners, benchmark, settings
        )
        members += _members(found)
        profiles += _profiles(found, rows, scores, settings)
        counts += [
            {"benchmark": benchmark, **asdict(score),
             "is_chosen": score.cluster_count == settings.cluster_count}
            for score in scores
        ]  # fmt: skip
    write(con, "analysis.cluster", members)
    write(con, "analysis.cluster_profile", profiles)
    write(con, "analysis.cluster_count", counts)
    return {"benchmarks": clustered, "refused": refused, "rows": len(members)}


def _members(found: Clustering) -> list[dict[str, Any]]:
    return [
        {"benchmark": found.benchmark, "result_id": name, "cluster_label": int(label)}
        for name, label in zip(found.result_ids, found.labels, strict=True)
    ]


def _profiles(
    found: Clustering, rows: pl.DataFrame, scores: list[CountProfile], settings: MethodSettings
) -> list[dict[str, Any]]:
    chosen = next((s for s in scores if s.cluster_count == settings.cluster_count), None)
    note = count_note(scores, settings.cluster_count)
    return [
        {
            **asdict(entry),
            "benchmark": found.benchmark,
            "jaccard": chosen.jaccard[entry.cluster_label - 1] if chosen else None,
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
