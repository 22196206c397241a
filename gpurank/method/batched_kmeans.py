"""K-means of many resamples at once.

A stability profile needs thousands of small fits, which take minutes with one scikit-learn call
per fit. Here all starts of all resamples of one k are fitted together. The published clusters come
from scikit-learn.

Arrays are (b, n, s): s starts on the n points of each of b sets of points (one set that all
resamples share, or one set per resample), so that sums over points add whole rows. Centres are
(k, b, d, s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpurank.method.arrays import Bools, Floats, Ints

_MAX_STEPS = 60
# Numbers in one block of weights; a few such arrays should fit into a core's cache.
_BLOCK = 32_768
# Converged starts are removed once this share or less is still moving: copying the arrays for
# fewer costs more than it saves.
_COMPACT_BELOW = 0.75

Small = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Fits:
    """The best start of each of b resamples: labels 0.. (b, n) of every point, and inertia (b,).

    A point that is not in a resample has the label of its nearest centre.
    """

    labels: Ints
    inertia: Floats


def batched_kmeans(
    points: Floats, weights: Floats, count: int, starts: int, rng: np.random.Generator
) -> Fits:
    """Returns the best of ``starts`` k-means++ starts of each of b weighted resamples.

    Args:
        points: (n, d) shared by all resamples, or (b, n, d).
        weights: (b, n) how often a resample holds each point.
        count: k, at most 127.
        starts: starts per resample.
        rng: draws the first centres.
    """
    size, length = weights.shape
    draws = rng.random((count, size * starts))
    if points.ndim == 3:
        start_weights = np.repeat(weights[:, :, None], starts, axis=2)
        small_labels, inertia = _fit(points, start_weights, draws.reshape(count, size, starts))
        labels = small_labels.transpose(0, 2, 1).reshape(size * starts, length)
        totals = inertia.ravel()
    else:
        labels = np.empty((size * starts, length), dtype=np.int8)
        totals = np.empty(len(labels))
        step = max(_BLOCK // length, 1)
        for first in range(0, len(labels), step):
            block = np.arange(first, min(first + step, len(labels)))
            start_weights = np.ascontiguousarray(weights[block // starts].T)[None]
            small_labels, inertia = _fit(points[None], start_weights, draws[:, None, block])
            labels[block], totals[block] = small_labels[0].T, inertia[0]
    best = np.arange(size) * starts + totals.reshape(size, starts).argmin(axis=1)
    return Fits(labels[best].astype(np.int64), totals[best])


def _fit(points: Floats, weights: Floats, draws: Floats) -> tuple[Small, Floats]:
    """Runs Lloyd's steps until no label changes; returns labels (b, n, s) and inertia (b, s).

    Args:
        points: (b, n, d).
        weights: (b, n, s).
        draws: (k, b, s) uniform draws that choose the first centres.
    """
    centres = _plus_plus(points, weights, draws)
    labels: Small = np.full(weights.shape, -1, dtype=np.int8)
    final_centres = np.empty_like(centres)
    # With one set of points each start is removed by itself, with several a whole set.
    is_shared = len(points) == 1
    live = np.arange(weights.shape[2] if is_shared else len(points))
    extended = np.concatenate([points, np.ones((*points.shape[:2], 1))], axis=2)
    live_weights, previous = weights, labels
    for step in range(_MAX_STEPS):
        assigned = _assign(extended, centres)
        changed: Bools = (assigned != previous).any(axis=1)
        moving = changed[0] if is_shared else changed.any(axis=1)
        if step == _MAX_STEPS - 1 or not moving.any():
            moving = np.zeros_like(moving)
        if moving.mean() < _COMPACT_BELOW:
            still, finished = ~moving, live[~moving]
            live = live[moving]
            if is_shared:
                labels[:, :, finished] = assigned[:, :, still]
                final_centres[..., finished] = centres[..., still]
                assigned, live_weights = assigned[:, :, moving], live_weights[:, :, moving]
                centres = centres[..., moving]
            else:
                labels[finished], final_centres[:, finished] = assigned[still], centres[:, still]
                assigned, live_weights = assigned[moving], live_weights[moving]
                centres, extended = centres[:, moving], extended[moving]
        if not len(live):
            break
        previous, centres = assigned, _means(extended, live_weights, assigned, centres)
    return labels, _inertia(points, weights, labels, final_centres)


def _plus_plus(points: Floats, weights: Floats, draws: Floats) -> Floats:
    """Returns first centres drawn with probability weight x squared distance: (k, b, d, s)."""
    sets = np.arange(len(points))[:, None]
    centres = np.empty((len(draws), len(points), points.shape[2], weights.shape[2]))
    by_weight = cumulative = np.cumsum(weights, axis=1)
    nearest = np.full(weights.shape, np.inf)
    for i, draw in enumerate(draws):
        if i:
            cumulative = np.cumsum(weights * nearest, axis=1)
            # With fewer distinct points than centres all distances are 0: draw by weight alone.
            is_spent = cumulative[:, -1:] <= 0
            cumulative = np.where(is_spent, by_weight, cumulative) if is_spent.any() else cumulative
        is_below = cumulative <= draw[:, None] * cumulative[:, -1:]
        chosen = np.minimum(np.count_nonzero(is_below, axis=1), weights.shape[1] - 1)
        centres[i] = points[sets, chosen].transpose(0, 2, 1)
        distance = np.zeros(weights.shape)
        for axis in range(points.shape[2]):
            distance += (points[:, :, axis, None] - centres[i, :, None, axis]) ** 2
        np.minimum(nearest, distance, out=nearest)
    return centres


def _assign(extended: Floats, centres: Floats) -> Small:
    """Returns the nearest centre of each point, the first of equals: (b, n, s).

    Without the point's own square, which all centres share, a squared distance is c² - 2 x·c.

    Args:
        extended: (b, n, d + 1) points with a one appended.
        centres: (k, b, d, s).
    """
    products = np.concatenate([-2 * centres, (centres**2).sum(axis=2, keepdims=True)], axis=2)
    nearest = extended @ products[0]
    distance = np.empty_like(nearest)
    labels: Small = np.zeros(nearest.shape, dtype=np.int8)
    is_closer: Bools = np.empty(nearest.shape, dtype=np.bool_)
    for i in range(1, len(centres)):
        np.matmul(extended, products[i], out=distance)
        np.less(distance, nearest, out=is_closer)
        # Labels rise with i, so the maximum is the last centre that was closer.
        np.maximum(labels, is_closer.view(np.int8) * np.int8(i), out=labels)
        np.minimum(nearest, distance, out=nearest)
    return labels


def _means(extended: Floats, weights: Floats, labels: Small, centres: Floats) -> Floats:
    """Returns weighted means; a centre that lost all its points stays where it was."""
    count, sets, axes, starts = centres.shape
    cell, size = _cells(labels).ravel(), count * sets * starts
    total = np.bincount(cell, weights.ravel(), size).reshape(count, sets, starts)
    has_points = total > 0
    share = 1 / np.where(has_points, total, 1)
    result = np.empty_like(centres)
    for axis in range(axes):
        sums = np.bincount(cell, (weights * extended[:, :, axis, None]).ravel(), size)
        means = sums.reshape(total.shape) * share
        result[:, :, axis] = np.where(has_points, means, centres[:, :, axis])
    return result


def _inertia(points: Floats, weights: Floats, labels: Small, centres: Floats) -> Floats:
    """Returns the weighted sum of squared distances to the labels' centres: (b, s)."""
    cell = _cells(labels)
    distance = np.zeros(weights.shape)
    for axis in range(points.shape[2]):
        own_centre = np.ascontiguousarray(centres[:, :, axis]).ravel()[cell]
        distance += (points[:, :, axis, None] - own_centre) ** 2
    result: Floats = (weights * distance).sum(axis=1)
    return result


def _cells(labels: Small) -> Ints:
    """Returns the position of each label's centre in a flattened (k, b, s): (b, n, s)."""
    sets, _, starts = labels.shape
    offset = np.arange(sets)[:, None, None] * starts + np.arange(starts)
    cells: Ints = labels.astype(np.int64) * (sets * starts) + offset
    return cells
