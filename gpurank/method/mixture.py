"""A Gaussian mixture of small data, shown beside the clusters. docs/method.md, section 2.

It is scikit-learn's: full covariances, starts from k-means, the same steps and tolerance. On a few
hundred points the library spends nine tenths of its time on checks at every step of every fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from gpurank.method.seeding import seeding
from gpurank.method.settings import Floats, Ints

_STARTS, _STEPS, _TOLERANCE = 2, 100, 1e-3
# Added to each variance: points that coincide would have none.
_SPREAD = 1e-4


@dataclass(frozen=True, slots=True)
class _Model:
    """Weights (k,), means (k, d) and lower Cholesky factors of the covariances (k, d, d)."""

    weights: Floats
    means: Floats
    factors: Floats


def mixture_labels(points: Floats, count: int, seed: int) -> Ints:
    """The most probable of ``count`` components for each of (n, d) points: (n,), from 0."""
    init = seeding(points, count, _STARTS, np.random.RandomState(seed))
    best, highest = None, -np.inf
    for _ in range(_STARTS):
        model = KMeans(count, init=init, n_init=1, random_state=seed)
        start = model.fit(points).labels_
        found, bound = _climb(points, np.eye(count)[start])
        if best is None or bound > highest:
            best, highest = found, bound
    assert best is not None
    labels: Ints = _shares(points, best)[0].argmax(axis=1)
    return labels


def _climb(points: Floats, shares: Floats) -> tuple[_Model, float]:
    """Expectation maximisation from shares (n, k) until the mean log likelihood stands still."""
    model, bound = _fitted(points, shares), -np.inf
    for _ in range(_STEPS):
        logs, norm = _shares(points, model)
        model, last, bound = _fitted(points, np.exp(logs)), bound, float(norm.mean())
        if abs(bound - last) < _TOLERANCE:
            break
    return model, bound


def _fitted(points: Floats, shares: Floats) -> _Model:
    """The model that shares (n, k) of the points in components give."""
    sizes = shares.sum(axis=0) + 10 * np.finfo(np.float64).eps
    means = shares.T @ points / sizes[:, None]
    off = points - means[:, None, :]
    spread = (shares.T[:, :, None] * off).transpose(0, 2, 1) @ off / sizes[:, None, None]
    spread += _SPREAD * np.eye(points.shape[1])
    return _Model(sizes / sizes.sum(), means, np.linalg.cholesky(spread))


def _shares(points: Floats, model: _Model) -> tuple[Floats, Floats]:
    """Log shares of the components in each point (n, k), and each point's log density (n,)."""
    off = (points - model.means[:, None, :]).transpose(0, 2, 1)
    squares = (np.linalg.solve(model.factors, off) ** 2).sum(axis=1)
    size = np.log(np.diagonal(model.factors, axis1=1, axis2=2)).sum(axis=1)
    level = np.log(model.weights) - size - 0.5 * points.shape[1] * np.log(2 * np.pi)
    logs = (level[:, None] - 0.5 * squares).T
    most = logs.max(axis=1, keepdims=True)
    norm = most + np.log(np.exp(logs - most).sum(axis=1, keepdims=True))
    return logs - norm, norm[:, 0]
