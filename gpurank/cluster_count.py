"""How well the data supports each number of clusters. docs/method.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score
from sklearn.mixture import GaussianMixture

from gpurank.clustering import by_time, fit
from gpurank.lloyd import batched_kmeans
from gpurank.method import Floats, Ints, MethodSettings, one_thread
from gpurank.noise import generator

# Hennig's reading of the Jaccard mean: below this a cluster is not a stable one.
_STABLE = 0.75


@dataclass(frozen=True, slots=True)
class CountProfile:
    """What speaks for k clusters; field names are columns of analysis.cluster_count.

    ``gap`` and ``gap_sd`` are Tibshirani's, against uniform data in the principal box.
    ``bootstrap_ari`` is the mean adjusted Rand index between the clusters and those of resamples,
    over all rows; ``jaccard`` each cluster's mean best Jaccard overlap with a resample's clusters,
    in label order, and ``jaccard_low`` the least of them.
    ``ward_ari`` and ``mixture_ari`` say how far two other algorithms agree.
    """

    cluster_count: int
    inertia: float
    silhouette: float
    calinski_harabasz: float
    gap: float
    gap_sd: float
    bootstrap_ari: float
    jaccard: tuple[float, ...]
    jaccard_low: float
    is_stable: bool
    ward_ari: float
    mixture_ari: float


def count_profile(
    values: Floats, time_min: Floats, name: str, settings: MethodSettings
) -> list[CountProfile]:
    """A profile for each k of the settings that leaves enough distinct points.

    Args:
        values: (n, d) features, rows in a canonical order.
        time_min: (n,) times that order the labels.
        name: what the random stream is called (the benchmark).
        settings: the ks, bootstraps, references and seed.
    """
    points = len(np.unique(np.round(values, 9), axis=0))
    each = settings.cluster_minimum_points_each
    plane = _principal(values)
    tree = linkage(values, "ward")
    with one_thread(1):
        return [
            _profile(values, time_min, plane, tree, count, name, settings)
            for count in settings.cluster_counts
            if points >= each * count
        ]


def _profile(
    values: Floats,
    time_min: Floats,
    plane: Floats,
    tree: Floats,
    count: int,
    name: str,
    settings: MethodSettings,
) -> CountProfile:
    raw, _, inertia = fit(values, count, settings)
    labels = np.argsort(by_time(raw, time_min, count))[raw]
    ari, jaccard = _stability(plane, labels, count, name, settings)
    gap, gap_sd = _gap(plane, inertia, count, name, settings)
    mixture = GaussianMixture(count, n_init=2, random_state=settings.seed, reg_covar=1e-4)
    return CountProfile(
        cluster_count=count,
        inertia=inertia,
        silhouette=float(silhouette_score(values, labels)),
        calinski_harabasz=float(calinski_harabasz_score(values, labels)),
        gap=gap,
        gap_sd=gap_sd,
        bootstrap_ari=ari,
        jaccard=jaccard,
        jaccard_low=min(jaccard),
        is_stable=min(jaccard) >= _STABLE,
        ward_ari=float(adjusted_rand_score(labels, fcluster(tree, count, "maxclust"))),
        mixture_ari=float(adjusted_rand_score(labels, mixture.fit_predict(plane))),
    )


def _principal(values: Floats) -> Floats:
    """Coordinates along the principal axes that have any extent; distances are unchanged.

    log AM = log T + log N, so the three features span a plane and the third axis is dropped.
    """
    centred = values - values.mean(axis=0)
    _, extent, axes = np.linalg.svd(centred, full_matrices=False)
    keep = extent > 1e-9 * max(float(extent[0]), 1e-300)
    # The sign of an axis is arbitrary; fix it, or uniform references could differ by machine.
    axes = axes[keep]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    projected: Floats = centred @ axes.T
    return projected


def _stability(
    plane: Floats, labels: Ints, count: int, name: str, settings: MethodSettings
) -> tuple[float, tuple[float, ...]]:
    """Mean adjusted Rand index, and each cluster's mean best Jaccard over the resampled rows."""
    rng = generator(settings, name, "bootstrap", str(count))
    size = len(plane)
    weights = rng.multinomial(size, np.full(size, 1 / size), settings.cluster_bootstraps)
    fits = batched_kmeans(
        plane, weights.astype(np.float64), count, settings.cluster_bootstrap_starts, rng
    )
    whole = np.eye(count)[labels]
    scores = np.array([_ari(whole.T @ np.eye(count)[found]) for found in fits.labels])
    best = np.empty((len(weights), count))
    for b, found in enumerate(fits.labels):
        there = weights[b] > 0
        mine, other = whole[there], np.eye(count)[found[there]]
        shared = mine.T @ other
        union = mine.sum(axis=0)[:, None] + other.sum(axis=0)[None, :] - shared
        best[b] = np.where(union > 0, shared / np.where(union > 0, union, 1), 0).max(axis=1)
    return float(scores.mean()), tuple(float(v) for v in best.mean(axis=0))


def _ari(table: Floats) -> float:
    """Adjusted Rand index of a contingency table (Hubert and Arabie)."""

    def pairs(x: Floats) -> float:
        return float((x * (x - 1) / 2).sum())

    rows, columns, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    expected = pairs(rows) * pairs(columns) / (total * (total - 1) / 2)
    most = (pairs(rows) + pairs(columns)) / 2
    return 1.0 if most == expected else (pairs(table) - expected) / (most - expected)


def _gap(
    plane: Floats, inertia: float, count: int, name: str, settings: MethodSettings
) -> tuple[float, float]:
    """Gap statistic and its simulation error."""
    rng = generator(settings, name, "gap", str(count))
    low, high = plane.min(axis=0), plane.max(axis=0)
    references = rng.uniform(low, high, (settings.gap_references, *plane.shape))
    ones = np.ones(references.shape[:2])
    found = batched_kmeans(references, ones, count, settings.cluster_bootstrap_starts, rng)
    logs = np.log(found.inertia)
    error = float(logs.std() * np.sqrt(1 + 1 / settings.gap_references))
    return float(logs.mean() - np.log(max(inertia, 1e-300))), error
