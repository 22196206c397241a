"""The tie rule: which costs differ by no more than run-to-run noise explains."""

from __future__ import annotations

import math

import numpy as np

from gpurank.method.arrays import Floats, Ints


def is_tie(
    lower: float, higher: float, variance: float, other_variance: float, quantile: float
) -> bool:
    """Returns whether two costs are tied: ln(higher / lower) < quantile x sqrt(v1 + v2), or equal.

    Args:
        lower: the lower cost, above 0.
        higher: the other.
        variance: of ln of the one cost, from run noise.
        other_variance: of ln of the other.
        quantile: of the standard normal distribution.
    """
    gap = math.log(higher / lower)
    return gap <= 0 or gap < quantile * math.sqrt(variance + other_variance)


def tie_groups(scores: Floats, variances: Floats, quantile: float) -> Ints:
    """Returns groups 1.. of entries in ranking order that are tied with their group's leader.

    The first entry that is not tied with the leader leads the next group.
    """
    result = np.empty(len(scores), dtype=np.int64)
    leader, group = 0, 1
    for i in range(len(scores)):
        if not is_tie(scores[leader], scores[i], variances[leader], variances[i], quantile):
            leader, group = i, group + 1
        result[i] = group
    return result
