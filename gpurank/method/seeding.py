"""First centres for the library's K-means, drawn as the library draws them, for all starts at once.

Its own seeding makes and checks a small table of distances a centre, which takes longer than the
steps that follow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpurank.method.settings import Floats, Ints

Init = Callable[..., Floats]


def seeding(points: Floats, count: int, starts: int, random: np.random.RandomState) -> Init:
    """The ``init`` of a KMeans with ``starts`` starts on these points, to be used once.

    Args:
        points: (n, d); what the library is fitted to.
        count: k.
        starts: its ``n_init``.
        random: what the library would draw from.
    """
    left = iter(first_centres(points, count, starts, random))

    def init(values: Floats, n_clusters: int, random_state: object) -> Floats:
        # The library's own copy, which it has centred.
        centres: Floats = values[next(left)]
        return centres

    return init


def first_centres(points: Floats, count: int, starts: int, random: np.random.RandomState) -> Ints:
    """Rows that greedy k-means++ takes (Arthur and Vassilvitskii 2007): (starts, k).

    The draws of ``sklearn.cluster.kmeans_plusplus``, start after start, and the same choices.
    """
    size, trials = len(points), 2 + int(np.log(count))
    draws = random.random_sample((starts, 1 + (count - 1) * trials))
    even = np.cumsum(np.full(size, 1 / size))
    chosen = np.empty((starts, count), dtype=np.int64)
    chosen[:, 0] = np.searchsorted(even / even[-1], draws[:, 0], side="right")
    near, every = np.full((starts, size), np.inf), np.arange(starts)
    near = _nearer(near[:, None], points, chosen[:, :1])[:, 0]
    for i in range(1, count):
        heap = np.cumsum(near, axis=1)
        aim = draws[:, 1 + (i - 1) * trials : 1 + i * trials] * heap[:, -1:]
        reached = np.count_nonzero(heap[:, None] < aim[:, :, None], axis=2)
        candidates = np.minimum(reached, size - 1)
        apart = _nearer(near[:, None], points, candidates)
        best = apart.sum(axis=2).argmin(axis=1)
        chosen[:, i], near = candidates[every, best], apart[every, best]
    return chosen


def _nearer(near: Floats, points: Floats, rows: Ints) -> Floats:
    """Squared distances of all points from some rows, (s, c, n), where less than ``near``."""
    total = np.zeros((*rows.shape, len(points)))
    for column in points.T:
        total += (column - column[rows][:, :, None]) ** 2
    return np.minimum(near, total)
