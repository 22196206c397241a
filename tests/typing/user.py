"""What a typed program of somebody else's does with the public names; checked, never run."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import polars as pl

import gpurank


def look(home: Path) -> None:
    ranking = gpurank.rank("resnet", "v4.0", pooled=False, limit=5, home=home)
    assert_type(ranking, pl.DataFrame)
    assert_type(gpurank.rounds(), pl.DataFrame)
    assert_type(gpurank.table("marts.result", home), pl.DataFrame)
    assert_type(gpurank.clusters("resnet"), pl.DataFrame)
    assert_type(gpurank.predict("resnet", "H100 SXM5 80GB", 128), pl.DataFrame)
    with gpurank.connect() as con:
        con.sql("from marts.ranking").pl()


def decide(prices: Path) -> str | None:
    chosen = gpurank.choose("bert", within="1h30m", max_accelerators=64, prices=prices)
    best = chosen.choice.recommended
    assert_type(chosen.frame(), pl.DataFrame)
    if best is None:
        return chosen.prediction_missing_reason
    assert_type(best.cost, float | None)
    assert_type(best.candidate.accelerator_count, int | None)
    return best.candidate.result_id


def place(logs: Path) -> float | None:
    mine = gpurank.mine(logs, 16, "H100 SXM5 80GB", lambda_chips=4.0)
    assert_type(mine.result.score_min, float | None)
    assert_type(mine.would_rank, int | None)
    return mine.expected_ratio


def compare() -> float | None:
    assert_type(gpurank.check_comparable("bert", "v4.0", "v4.1"), str | None)
    try:
        found = gpurank.compare("v4.0/a/b/bert", "v4.1/a/b/bert")
    except (gpurank.NotComparable, gpurank.NoData):
        return None
    assert_type(found.warnings, tuple[str, ...])
    return found.speedup


def settings() -> gpurank.Settings:
    found = gpurank.load(home="data", lambda_chips=16)
    assert_type(found.warehouse_path, Path)
    return found


def mistakes() -> None:
    gpurank.rank("resnet", limit="five")  # type: ignore[arg-type]
    gpurank.choose("bert", "1h")  # type: ignore[call-arg]
    gpurank.no_such_name  # type: ignore[attr-defined]  # noqa: B018
