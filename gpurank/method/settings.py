"""The method's settings and what its stages share. docs/method.md has the definitions."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from gpurank.errors import Exit, GpurankError
from gpurank.settings import Settings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# How many blocks of this process are inside ``one_thread``, and the limit that the first one set.
_INSIDE = threading.Lock()
_blocks = 0
_limit: threadpool_limits | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and OpenMP with one thread while the block runs.

    They split sums by thread; with one, a table never depends on the machine. Looking for these
    libraries takes milliseconds, so only the outermost block of the process does.
    """
    global _blocks, _limit
    with _INSIDE:
        if not _blocks:
            _limit = threadpool_limits(1)
        _blocks += 1
    try:
        yield
    finally:
        with _INSIDE:
            _blocks -= 1
            if not _blocks and _limit is not None:
                _limit.restore_original_limits()


class MethodError(GpurankError, ValueError):
    """An input frame or a setting that the method cannot work with."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class MethodSettings:
    """Every choice of the method that a person may want to change.

    ``lambda_chips`` is the rental, in chips, that a minute of waiting is worth;
    ``lambda_low``/``lambda_high`` bound the log-uniform range of it that probabilities average
    over. With 0 ``…_bootstraps`` what depends on them is None. ``features`` are columns of
    metrics.configuration, clustered as log10 z-scores.
    """

    seed: int = 20240612
    # selection
    selection_threshold: float = 0.20
    redundancy_distance: float = 0.30
    residual_share: float = 0.05
    missing_share: float = 0.25
    constant_share: float = 0.95
    selection_bootstraps: int = 500
    stability_threshold: float = 0.60
    selection_minimum_rows: int = 30
    selection_minimum_submitters: int = 5
    importance_folds: int = 3
    importance_trees: int = 30
    importance_repeats: int = 3
    matched_minimum: int = 4
    matched_permutations: int = 2000
    # clustering
    cluster_count: int = 5
    features: tuple[str, ...] = ("score_min", "accelerator_count", "accelerator_minutes")
    cluster_starts: int = 50
    cluster_minimum_rows: int = 30
    cluster_minimum_points_each: int = 3
    cluster_small: int = 10
    cluster_counts: tuple[int, ...] = (2, 3, 4, 5, 6, 7, 8)
    cluster_bootstraps: int = 100
    cluster_bootstrap_starts: int = 4
    cluster_submitter_starts: int = 12
    gap_references: int = 20
    # fleet law
    fleet_first_round: str = "v1.0"
    fleet_bootstraps: int = 200
    outlier_z: float = 4.0
    # ranking
    lambda_chips: float = 8.0
    lambda_low: float = 1.0
    lambda_high: float = 64.0
    draws: int = 4000
    tie_quantile: float = 1.645
    prior_degrees: float = 8.0
    site_minimum: int = 4

    def __post_init__(self) -> None:
        """Refuse values that would give a plausible wrong table."""
        if not 0 < self.lambda_chips < math.inf:
            raise MethodError(f"lambda is a number of chips above 0, not {self.lambda_chips}")
        if not 0 < self.lambda_low < self.lambda_high:
            raise MethodError(
                f"the range of lambda must rise from above 0, not {self.lambda_low} "
                f"to {self.lambda_high}"
            )
        if min(self.selection_bootstraps, self.cluster_bootstraps, self.fleet_bootstraps) < 0:
            raise MethodError("the number of bootstraps is 0 (none) or more")
        if self.cluster_count < 2:
            raise MethodError(f"at least 2 clusters, not {self.cluster_count}")


def method_settings(settings: Settings | MethodSettings) -> MethodSettings:
    """The method's settings of a run's settings; its own are taken as they are."""
    if isinstance(settings, MethodSettings):
        return settings
    own = MethodSettings(
        seed=settings.seed,
        lambda_chips=settings.lambda_chips,
        cluster_count=settings.cluster_count,
    )
    if settings.bootstraps is None:
        return own
    count = settings.bootstraps
    return replace(
        own, selection_bootstraps=count, cluster_bootstraps=count, fleet_bootstraps=count
    )


def analysis_set(frame: pl.DataFrame, benchmark: str) -> pl.DataFrame:
    """A benchmark's analysis set: closed, with accelerators, comparable, each measurement once.

    Sorted by result_id, so that nothing downstream depends on the order rows came in.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
    """
    return frame.filter((pl.col("benchmark") == benchmark) & pl.col("is_in_analysis_set")).sort(
        "result_id"
    )


def benchmarks(frame: pl.DataFrame) -> list[str]:
    """The benchmarks of a frame, by name."""
    return sorted(frame["benchmark"].unique().to_list())


def fields(item: Any) -> dict[str, Any]:
    """A flat dataclass as a row; the standard library's ``asdict`` copies every value deeply."""
    return {name: getattr(item, name) for name in item.__dataclass_fields__}


def floats(frame: pl.DataFrame, column: str) -> Floats:
    """A numeric or boolean column as float64; null becomes nan."""
    return frame[column].cast(pl.Float64).to_numpy().astype(np.float64)
