"""Stage 3 on one benchmark: rows of analysis.ranking and analysis.unranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from gpurank.method.clustering import restore
from gpurank.method.ranking import Noise, noise, rank, unrankable_reason
from gpurank.method.settings import MethodSettings, fields
from tasks.method.tables import Rows


def rows(
    frame: pl.DataFrame,
    benchmark: str,
    members: Sequence[Mapping[str, Any]],
    settings: MethodSettings,
) -> Rows:
    """Every round's list and the pooled analysis set, ranked; and what stands in no list.

    Args:
        frame: metrics.configuration of this benchmark alone.
        members: its rows of analysis.cluster.
    """
    labels = _labels(frame, members, benchmark, settings)
    errors = noise(frame, settings)
    place = frame.select("result_id", "round_id", "benchmark")
    without = unrankable_reason(frame).join(place, on="result_id").sort("result_id")
    return {
        "analysis.ranking": [
            row
            for scope, part in _lists(frame)
            for row in _ranked(scope, part, errors, labels, settings)
        ],
        "analysis.unranked": without.to_dicts(),
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
            **fields(entry),
            "site_log_sd": errors.site_sd,
            "cluster_label": (label := labels[entry.result_id]),
            # Of equals all get the lower rank, as in the whole list.
            "cluster_rank": None if label is None else 1 + ranks[label].index(entry.rank),
        }
        for entry in ranked
    ]


def _labels(
    entries: pl.DataFrame,
    members: Sequence[Mapping[str, Any]],
    benchmark: str,
    settings: MethodSettings,
) -> dict[str, int | None]:
    """Cluster labels; a row outside the fit (refiled) that may be compared gets the nearest."""
    schema = {"result_id": pl.String, "cluster_label": pl.Int64}
    known = [(row["result_id"], row["cluster_label"]) for row in members]
    fitted = entries.join(pl.DataFrame(known, schema, orient="row"), on="result_id")
    clusters = restore(fitted, benchmark, settings)
    comparable = pl.Series(fitted["span_id"].unique())
    nearest = clusters.label(entries)
    inside = entries["span_id"].is_in(comparable.implode()).fill_null(False).to_list()
    return {
        name: label if is_inside else None
        for name, label, is_inside in zip(entries["result_id"], nearest, inside, strict=True)
    }
