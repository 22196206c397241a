"""Synthetic inputs of the method, and commands as a person types them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from typing import Any

import polars as pl
import pytest

from gpurank.cli import main as cli

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a command; returns its exit code, stdout and stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gpurank", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return run


@pytest.fixture
def configurations() -> Callable[..., pl.DataFrame]:
    """A metrics.configuration frame from a few columns (lists); the rest has plain values."""

    def make(**given: Any) -> pl.DataFrame:
        count = len(next(iter(given.values())))
        plain: dict[str, Any] = {
            "result_id": [f"v1.0/s/{i:05d}/resnet" for i in range(count)],
            "round_id": "v1.0",
            "round_index": 3,
            "round_date": date(2021, 6, 30),
            "is_round_date_estimated": False,
            "benchmark": "resnet",
            "division": "closed",
            "submitter": [f"submitter {i % 8}" for i in range(count)],
            "accelerator": "X1",
            "accelerator_family": "X",
            "span_id": "resnet v0.6-v4.0",
            "is_independent": True,
            "is_same_round_copy": False,
            "is_in_analysis_set": True,
            "is_in_round_list": True,
            "score_min": [10.0] * count,
            "accelerator_count": [8] * count,
            "run_minutes": [[]] * count,
            "dropped_count": 1,
            "node_count": 1,
            "accelerators_per_node": 8,
            "accelerator_launch_year": 2020,
            "link_rank": 3,
            "is_socketed": True,
            "core_count": 128,
            "socket_count": 2,
            "cores_per_socket": 64,
            "cpu_launch_year": 2020,
            "cpu_vendor": "AMD",
            "memory_per_node_gib": 1024.0,
            "network_gbps_per_node": 800.0,
        }
        columns = {**plain, **given}
        filled = {
            name: value if isinstance(value, list) else [value] * count
            for name, value in columns.items()
        }
        frame = pl.DataFrame(filled, schema_overrides={"run_minutes": pl.List(pl.Float64)})
        minutes = pl.col("score_min") * pl.col("accelerator_count")
        return frame.with_columns(accelerator_minutes=minutes)

    return make
