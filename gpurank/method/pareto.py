"""Which entry is best at which price of waiting: the lower convex hull of (T, AM)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from gpurank.method.settings import Floats


def best_intervals(time_min: Floats, accelerator_minutes: Floats) -> dict[int, tuple[float, float]]:
    """The lambda interval in which each entry is the single best, by position.

    An entry minimises AM + lambda * T for the lambdas between the slopes of the hull's edges at
    it. Entries that are best nowhere are absent; the last interval ends at infinity. Of equal
    entries the first counts, so pass them in ranking order of their ties.

    Args:
        time_min: (n,) T in minutes, all > 0.
        accelerator_minutes: (n,) AM.
    """
    hull: list[int] = []
    order = np.lexsort((np.arange(len(time_min)), time_min, accelerator_minutes))
    for i in order.tolist():
        # Rising AM: only a strictly faster entry can ever be better.
        if hull and time_min[i] >= time_min[hull[-1]]:
            continue
        while len(hull) > 1 and _rate(hull[-1], i, time_min, accelerator_minutes) <= _rate(
            hull[-2], hull[-1], time_min, accelerator_minutes
        ):
            hull.pop()
        hull.append(i)
    edges = [_rate(a, b, time_min, accelerator_minutes) for a, b in pairwise(hull)]
    bounds = [0.0, *edges, np.inf]
    return {i: (bounds[place], bounds[place + 1]) for place, i in enumerate(hull)}


def _rate(slow: int, fast: int, time_min: Floats, accelerator_minutes: Floats) -> float:
    """The lambda at which two entries cost the same: extra chip-minutes a minute saved."""
    extra = accelerator_minutes[fast] - accelerator_minutes[slow]
    return float(extra / (time_min[slow] - time_min[fast]))
