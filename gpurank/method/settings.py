"""The settings of the method. docs/method.md has the definitions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gpurank.errors import Exit, GpurankError
from gpurank.settings import DEFAULT_LAMBDA, Settings


class MethodError(GpurankError, ValueError):
    """An input or a setting that the method cannot work with."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class MethodSettings:
    """Every choice of the method that a user may want to change.

    ``seed`` fixes every random draw. ``lambda_chips`` is the rental, in chips, that a minute of
    waiting is worth; ``lambda_low`` and ``lambda_high`` bound the log-uniform range of lambda that
    probabilities average over. With 0 ``…_bootstraps`` everything that depends on resamples is
    None. ``features`` are columns of metrics.configuration, clustered as log10 z-scores.
    ``tie_quantile`` is the standard normal quantile of the tie rule (gpurank.method.ties).
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
    lambda_chips: float = DEFAULT_LAMBDA
    lambda_low: float = 1.0
    lambda_high: float = 64.0
    draws: int = 4000
    tie_quantile: float = 1.645
    prior_degrees: float = 8.0
    site_minimum: int = 4

    def __post_init__(self) -> None:
        """Raises MethodError for values that would make a plausible but wrong table."""
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
    """Returns the method's settings of a run; MethodSettings are returned unchanged."""
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
