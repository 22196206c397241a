"""Weighted ranks and rank covariances of many resamples at once."""

from __future__ import annotations

import numpy as np

from gpurank.method.arrays import Bools, Floats, Ints


def weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Returns centred mid-ranks of each variable in each weighted resample.

    A row of weight w counts as w copies of itself, so the ranks are those of the resample.
    Missing values (nan) get the mean rank, 0.

    Args:
        values: (n, p), nan where missing.
        weights: (b, n), whole counts.

    Returns:
        (b, n, p); each variable's weighted mean over its known rows is 0.
    """
    ranks = np.zeros((weights.shape[0], *values.shape))
    for column in range(values.shape[1]):
        rows = np.flatnonzero(~np.isnan(values[:, column]))
        if len(rows) == 0:
            continue
        _, level = np.unique(values[rows, column], return_inverse=True)
        order = rows[np.argsort(level, kind="stable")]
        starts = np.searchsorted(np.sort(level), np.arange(level.max() + 1))
        weight = np.add.reduceat(weights[:, order], starts, axis=1)
        mid_rank = np.cumsum(weight, axis=1) - weight / 2
        total = weight.sum(axis=1, keepdims=True)
        ranks[:, rows, column] = (mid_rank - total / 2)[:, level]
    return ranks


def rank_covariances(values: Floats, weights: Floats) -> Floats:
    """Returns cross products (b, p, p) of the centred weighted ranks of (n, p) values."""
    ranks = weighted_ranks(values, weights)
    product: Floats = np.matmul(ranks.transpose(0, 2, 1) * weights[:, None, :], ranks)
    return product


def spearman(values: Floats) -> Floats:
    """Returns Spearman correlations of the columns of (n, p), each over rows that know both.

    0 where a pair shares fewer than three rows or either is constant there.
    """
    count = values.shape[1]
    result = np.eye(count)
    is_known = ~np.isnan(values)
    # Pairs of columns known in the same rows share their ranks.
    pairs: dict[bytes, list[tuple[int, int]]] = {}
    for i in range(count):
        for j in range(i):
            pairs.setdefault((is_known[:, i] & is_known[:, j]).tobytes(), []).append((i, j))
    for shared, columns in pairs.items():
        rows = np.frombuffer(shared, dtype=np.bool_)
        if rows.sum() < 3:
            continue
        used = sorted({i for pair in columns for i in pair})
        ones = np.ones((1, int(rows.sum())))
        covariance = rank_covariances(values[rows][:, used], ones)[0]
        position = {column: at for at, column in enumerate(used)}
        for i, j in columns:
            a, b = position[i], position[j]
            scale = np.sqrt(covariance[a, a] * covariance[b, b])
            result[i, j] = result[j, i] = covariance[a, b] / scale if scale > 0 else 0.0
    return result


def project_out(covariances: Floats, pivot: Ints, floor: Floats, active: Bools) -> Floats:
    """Removes what a variable explains linearly from all others (one sweep per resample).

    Args:
        covariances: (b, p, p).
        pivot: (b,) the variable to remove in each resample.
        floor: (b, p) residual variance at or below which a pivot is not removed.
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
