"""Weighted ranks and rank covariances of many resamples at once."""

from __future__ import annotations

import numpy as np

from gpurank.method.settings import Bools, Floats, Ints


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Centred mid-ranks of each variable in each weighted resample.

    A row with weight w stands for w copies of itself, so the ranks are those of the resample
    written out. Missing values (nan) get the mean rank, 0: they neither help nor hurt.

    Args:
        values: (n, p), nan where missing.
        weights: (b, n), whole counts.

    Returns:
        (b, n, p); each variable's weighted mean over its known rows is 0.
    """
    ranks = np.zeros((weights.shape[0], *values.shape))
    for column in range(values.shape[1]):
        known = np.flatnonzero(~np.isnan(values[:, column]))
        if len(known) == 0:
            continue
        _, level = np.unique(values[known, column], return_inverse=True)
        order = known[np.argsort(level, kind="stable")]
        starts = np.searchsorted(np.sort(level), np.arange(level.max() + 1))
        mass = np.add.reduceat(weights[:, order], starts, axis=1)
        middle = np.cumsum(mass, axis=1) - mass / 2
        total = mass.sum(axis=1, keepdims=True)
        ranks[:, known, column] = (middle - total / 2)[:, level]
    return ranks


def rank_covariances(values: Floats, weights: Floats) -> Floats:
    """Cross products of the centred weighted ranks: (b, p, p) for (n, p) values, (b, n) weights."""
    ranks = weighted_ranks(values, weights)
    product: Floats = np.matmul(ranks.transpose(0, 2, 1) * weights[:, None, :], ranks)
    return product


def spearman(values: Floats) -> Floats:
    """Spearman correlations of the columns of (n, p), each pair over rows that know both.

    0 where a pair shares fewer than three rows or either is constant there.
    """
    count = values.shape[1]
    result = np.eye(count)
    known = ~np.isnan(values)
    # Most columns know the same rows, and ranks depend on nothing else.
    pairs: dict[bytes, list[tuple[int, int]]] = {}
    for i in range(count):
        for j in range(i):
            pairs.setdefault((known[:, i] & known[:, j]).tobytes(), []).append((i, j))
    for shared, found in pairs.items():
        both = np.frombuffer(shared, dtype=np.bool_)
        if both.sum() < 3:
            continue
        used = sorted({i for pair in found for i in pair})
        cov = rank_covariances(values[both][:, used], np.ones((1, int(both.sum()))))[0]
        place = {i: at for at, i in enumerate(used)}
        for i, j in found:
            a, b = place[i], place[j]
            scale = np.sqrt(cov[a, a] * cov[b, b])
            result[i, j] = result[j, i] = cov[a, b] / scale if scale > 0 else 0.0
    return result


def project_out(covariances: Floats, pivot: Ints, floor: Floats, active: Bools) -> Floats:
    """Remove what a variable explains linearly from every other one (one sweep a resample).

    Args:
        covariances: (b, p, p).
        pivot: (b,) the variable to remove in each resample.
        floor: (b, p) residual variance below which a pivot holds nothing and is left alone.
        active: (b,) resamples to change.

    Returns:
        (b, p, p) residual covariances.
    """
    index = np.arange(len(pivot))
    column = covariances[index, :, pivot]
    variance = covariances[index, pivot, pivot]
    use = active & (variance > floor[index, pivot])
    share = np.where(use, 1.0 / np.where(use, variance, 1.0), 0.0)
    result: Floats = covariances - column[:, :, None] * column[:, None, :] * share[:, None, None]
    return result
