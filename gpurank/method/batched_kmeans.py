"""K-means of many resamples at once.

A stability profile needs some thousand small fits, for which one call a fit costs minutes. Here
all starts of all resamples of one k run side by side. The published clusters come from
scikit-learn.

Arrays are (b, n, s): s starts on the n points of each of b sets of points (one set that all
share, or one a resample), so that sums over points add whole rows. Centres are (k, b, d, s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpurank.method.settings import Bools, Floats, Ints

_STEPS = 60
# Numbers in an array that is worked on: some of them should stay in a core's own cache.
_BLOCK = 32_768
# Starts that stand still leave, so that a few slow ones do not hold up the rest; to make the
# arrays smaller pays only when many do.
_CROWD = 0.75

Small = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Fits:
    """The best start of each of b resamples: labels (b, n) of every point, 0.., and inertia (b,).

    A point that a resample left out has the label of its nearest centre.
    """

    labels: Ints
    inertia: Floats


def batched_kmeans(
    points: Floats, weights: Floats, count: int, starts: int, rng: np.random.Generator
) -> Fits:
    """K-means++ starts and Lloyd's steps for b weighted resamples, the best of ``starts`` each.

    Args:
        points: (n, d) shared by all resamples, or (b, n, d).
        weights: (b, n) how often each point stands in a resample.
        count: k, at most 127.
        starts: restarts a resample.
        rng: draws the first centres.
    """
    size, length = weights.shape
    draws = rng.random((count, size * starts))
    if points.ndim == 3:
        mass = np.repeat(weights[:, :, None], starts, axis=2)
        found, inertia = _descend(points, mass, draws.reshape(count, size, starts))
        labels = found.transpose(0, 2, 1).reshape(size * starts, length)
        totals = inertia.ravel()
    else:
        labels = np.empty((size * starts, length), dtype=np.int8)
        totals = np.empty(len(labels))
        step = max(_BLOCK // length, 1)
        for first in range(0, len(labels), step):
            mine = np.arange(first, min(first + step, len(labels)))
            mass = np.ascontiguousarray(weights[mine // starts].T)[None]
            found, inertia = _descend(points[None], mass, draws[:, None, mine])
            labels[mine], totals[mine] = found[0].T, inertia[0]
    picked = np.arange(size) * starts + totals.reshape(size, starts).argmin(axis=1)
    return Fits(labels[picked].astype(np.int64), totals[picked])


def _descend(points: Floats, mass: Floats, draws: Floats) -> tuple[Small, Floats]:
    """Lloyd's steps until no label moves: labels (b, n, s) and inertia (b, s).

    Args:
        points: (b, n, d).
        mass: (b, n, s).
        draws: (k, b, s) uniform draws that pick the first centres.
    """
    centres = _plus_plus(points, mass, draws)
    labels: Small = np.full(mass.shape, -1, dtype=np.int8)
    last = np.empty_like(centres)
    # Of one set each start leaves for itself, of several a set when all its starts stand still.
    is_one = len(points) == 1
    live = np.arange(mass.shape[2] if is_one else len(points))
    known = np.concatenate([points, np.ones((*points.shape[:2], 1))], axis=2)
    own, old = mass, labels
    for number in range(_STEPS):
        new = _assign(known, centres)
        moved: Bools = (new != old).any(axis=1)
        going = moved[0] if is_one else moved.any(axis=1)
        if number == _STEPS - 1 or not going.any():
            going = np.zeros_like(going)
        if going.mean() < _CROWD:
            stay, gone = ~going, live[~going]
            live = live[going]
            if is_one:
                labels[:, :, gone], last[..., gone] = new[:, :, stay], centres[..., stay]
                new, own, centres = new[:, :, going], own[:, :, going], centres[..., going]
            else:
                labels[gone], last[:, gone] = new[stay], centres[:, stay]
                new, own, centres, known = new[going], own[going], centres[:, going], known[going]
        if not len(live):
            break
        old, centres = new, _means(known, own, new, centres)
    return labels, _inertia(points, mass, labels, last)


def _plus_plus(points: Floats, mass: Floats, draws: Floats) -> Floats:
    """First centres, each drawn with probability mass x squared distance: (k, b, d, s)."""
    sets = np.arange(len(points))[:, None]
    centres = np.empty((len(draws), len(points), points.shape[2], mass.shape[2]))
    plain = heap = np.cumsum(mass, axis=1)
    near = np.full(mass.shape, np.inf)
    for i, draw in enumerate(draws):
        if i:
            heap = np.cumsum(mass * near, axis=1)
            # Fewer distinct points than centres: fall back to the mass alone.
            spent = heap[:, -1:] <= 0
            heap = np.where(spent, plain, heap) if spent.any() else heap
        reached = heap <= draw[:, None] * heap[:, -1:]
        pick = np.minimum(np.count_nonzero(reached, axis=1), mass.shape[1] - 1)
        centres[i] = points[sets, pick].transpose(0, 2, 1)
        apart = np.zeros(mass.shape)
        for axis in range(points.shape[2]):
            apart += (points[:, :, axis, None] - centres[i, :, None, axis]) ** 2
        np.minimum(near, apart, out=near)
    return centres


def _assign(known: Floats, centres: Floats) -> Small:
    """The nearest centre of each point, the first of equals: (b, n, s).

    Less the point's own square, which all centres share, a squared distance is c² - 2 x·c.

    Args:
        known: (b, n, d + 1) points and a one.
    """
    ends = np.concatenate([-2 * centres, (centres**2).sum(axis=2, keepdims=True)], axis=2)
    near = known @ ends[0]
    apart = np.empty_like(near)
    labels: Small = np.zeros(near.shape, dtype=np.int8)
    closer: Bools = np.empty(near.shape, dtype=np.bool_)
    for i in range(1, len(centres)):
        np.matmul(known, ends[i], out=apart)
        np.less(apart, near, out=closer)
        # Rising numbers: the largest is the last that was closer.
        np.maximum(labels, closer.view(np.int8) * np.int8(i), out=labels)
        np.minimum(near, apart, out=near)
    return labels


def _means(known: Floats, mass: Floats, labels: Small, centres: Floats) -> Floats:
    """Weighted means; a centre that lost all its points stays where it was."""
    count, sets, axes, starts = centres.shape
    cell, size = _cells(labels).ravel(), count * sets * starts
    total = np.bincount(cell, mass.ravel(), size).reshape(count, sets, starts)
    kept = total > 0
    share = 1 / np.where(kept, total, 1)
    result = np.empty_like(centres)
    for axis in range(axes):
        sums = np.bincount(cell, (mass * known[:, :, axis, None]).ravel(), size)
        result[:, :, axis] = np.where(kept, sums.reshape(kept.shape) * share, centres[:, :, axis])
    return result


def _inertia(points: Floats, mass: Floats, labels: Small, centres: Floats) -> Floats:
    """Sum of squared distances to the labels' centres: (b, s)."""
    cell = _cells(labels)
    total = np.zeros(mass.shape)
    for axis in range(points.shape[2]):
        middle = np.ascontiguousarray(centres[:, :, axis]).ravel()[cell]
        total += (points[:, :, axis, None] - middle) ** 2
    result: Floats = (mass * total).sum(axis=1)
    return result


def _cells(labels: Small) -> Ints:
    """Where the centre of each label stands in a flattened (k, b, s): (b, n, s)."""
    sets, _, starts = labels.shape
    place = np.arange(sets)[:, None, None] * starts + np.arange(starts)
    cells: Ints = labels.astype(np.int64) * (sets * starts) + place
    return cells
