"""Reads the method's input, rows of metrics.configuration, as polars frames."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpurank.method.arrays import Floats


def benchmarks(frame: pl.DataFrame) -> list[str]:
    """Returns the benchmarks of a frame, sorted by name."""
    return sorted(frame["benchmark"].unique().to_list())


def analysis_set(frame: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """Returns a benchmark's analysis set, sorted by result_id so that row order has no effect.

    It holds closed-division results with accelerators from comparable rounds, each measurement
    once.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
    """
    return frame.filter((pl.col("benchmark") == benchmark) & pl.col("is_in_analysis_set")).sort(
        "result_id"
    )


def floats(frame: pl.DataFrame, column: str) -> Floats:
    """Returns a numeric or boolean column as float64; null becomes nan."""
    return frame[column].cast(pl.Float64).to_numpy().astype(np.float64)
