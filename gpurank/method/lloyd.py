"""K-means of many resamples at once.

A stability profile needs some thousand small fits, for which one call a fit costs minutes. Here
all resamples of one k run side by side. The published clusters come from scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpurank.method.settings import Floats, Ints

_STEPS = 60


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
        count: k.
        starts: restarts a resample.
        rng: draws the first centres.
    """
    size = len(weights)
    shared = points.ndim == 2
    axes = np.moveaxis(points, -1, 0)[:, None, :] if shared else np.moveaxis(points, -1, 0)
    tiled = axes if shared else np.repeat(axes, starts, axis=1)
    mass = np.repeat(weights, starts, axis=0)
    centres = _plus_plus(tiled, mass, count, rng)
    labels = np.full(mass.shape, -1, dtype=np.int64)
    inertia = np.full(len(mass), np.inf)
    live = np.arange(len(mass))
    for _ in range(_STEPS):
        here = tiled if shared else tiled[:, live]
        new, distance = _assign(here, centres[:, live])
        inertia[live] = (distance * mass[live]).sum(axis=1)
        moved = (new != labels[live]).any(axis=1)
        labels[live] = new
        # Those that stand still leave, so that a few slow ones do not hold up the rest.
        live, new = live[moved], new[moved]
        if not len(live):
            break
        here = tiled if shared else tiled[:, live]
        centres[:, live] = _means(here, mass[live], new, centres[:, live])
    best = inertia.reshape(size, starts).argmin(axis=1)
    picked = np.arange(size) * starts + best
    return Fits(labels[picked], inertia[picked])


def _plus_plus(axes: Floats, mass: Floats, count: int, rng: np.random.Generator) -> Floats:
    """First centres, each drawn with probability mass x squared distance: (d, m, count)."""
    total = np.broadcast_to(axes, (axes.shape[0], *mass.shape))
    rows = np.arange(len(mass))
    centres = np.empty((axes.shape[0], len(mass), count))
    near = np.full(mass.shape, np.inf)
    for i in range(count):
        chance = mass if i == 0 else mass * near
        heap = np.cumsum(chance, axis=1)
        # Fewer distinct points than centres: fall back to the mass alone.
        heap = np.where(heap[:, [-1]] > 0, heap, np.cumsum(mass, axis=1))
        draw = rng.random((len(mass), 1)) * heap[:, [-1]]
        pick = (heap <= draw).sum(axis=1).clip(max=mass.shape[1] - 1)
        centres[:, :, i] = total[:, rows, pick]
        near = np.minimum(near, _squared(axes, centres[:, :, i]))
    return centres


def _squared(axes: Floats, centre: Floats) -> Floats:
    apart: Floats = (axes[0] - centre[0][:, None]) ** 2
    for axis, middle in zip(axes[1:], centre[1:], strict=True):
        apart = apart + (axis - middle[:, None]) ** 2
    return apart


def _assign(axes: Floats, centres: Floats) -> tuple[Ints, Floats]:
    near = _squared(axes, centres[:, :, 0])
    labels = np.zeros(near.shape, dtype=np.int64)
    for i in range(1, centres.shape[2]):
        apart = _squared(axes, centres[:, :, i])
        closer = apart < near
        labels[closer] = i
        near = np.where(closer, apart, near)
    return labels, near


def _means(axes: Floats, mass: Floats, labels: Ints, centres: Floats) -> Floats:
    """Weighted means; a centre that lost all its points stays where it was."""
    result = centres.copy()
    for i in range(centres.shape[2]):
        inside = mass * (labels == i)
        total = inside.sum(axis=1)
        kept = total > 0
        for axis in range(len(axes)):
            sums = (inside * axes[axis]).sum(axis=1)
            result[axis, kept, i] = sums[kept] / total[kept]
    return result
