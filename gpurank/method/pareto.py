"""The Pareto front of time and cost, and the part of it that is best for some lambda.

Lower is better in both. A point is dominated if another is at most as high in both and lower in
one; the Pareto front holds the points that are not.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gpurank.method.arrays import Bools, Floats


def pareto_front(time: Floats, cost: Floats) -> Bools:
    """Returns whether each point is on the Pareto front; equal points all are, or none is.

    Args:
        time: (..., n); leading axes are separate lists.
        cost: (..., n).
    """
    order = np.lexsort((cost, time))
    time, cost = np.take_along_axis(time, order, -1), np.take_along_axis(cost, order, -1)
    lowest = np.minimum.accumulate(cost, axis=-1)
    # Sorted by time, then cost, a point that lowers the cost is not dominated, nor are its equals.
    is_new_low = np.ones(cost.shape, dtype=np.bool_)
    is_new_low[..., 1:] = cost[..., 1:] < lowest[..., :-1]
    time_at_low = np.maximum.accumulate(np.where(is_new_low, time, -np.inf), axis=-1)
    result = np.empty(cost.shape, dtype=np.bool_)
    np.put_along_axis(result, order, (cost == lowest) & (time == time_at_low), axis=-1)
    return result


def best_intervals(time_min: Floats, accelerator_minutes: Floats) -> dict[int, tuple[float, float]]:
    """Returns by position the interval of lambda in which each entry is the single best.

    An entry minimises AM + lambda x T for the lambdas between the slopes of its two edges on the
    lower convex hull of (T, AM). Entries that are best for no lambda are absent; the last interval
    ends at infinity. Of equal entries the first counts, so pass them in ranking order.

    Args:
        time_min: (n,) T in minutes, all above 0.
        accelerator_minutes: (n,) AM.
    """
    front = np.flatnonzero(pareto_front(time_min, accelerator_minutes))
    order = front[np.lexsort((front, accelerator_minutes[front]))]
    hull: list[int] = []
    for i in order.tolist():
        if hull and time_min[i] == time_min[hull[-1]]:
            continue
        while len(hull) > 1 and _lambda_between(
            hull[-1], i, time_min, accelerator_minutes
        ) <= _lambda_between(hull[-2], hull[-1], time_min, accelerator_minutes):
            hull.pop()
        hull.append(i)
    edges = [_lambda_between(a, b, time_min, accelerator_minutes) for a, b in pairwise(hull)]
    bounds = [0.0, *edges, np.inf]
    return {entry: (bounds[i], bounds[i + 1]) for i, entry in enumerate(hull)}


def _lambda_between(slow: int, fast: int, time_min: Floats, accelerator_minutes: Floats) -> float:
    """Returns the lambda at which two entries cost the same: chip-minutes per minute saved."""
    extra = accelerator_minutes[fast] - accelerator_minutes[slow]
    return float(extra / (time_min[slow] - time_min[fast]))
