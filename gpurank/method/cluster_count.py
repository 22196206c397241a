"""How well the data supports each number of clusters. docs/method.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score
from sklearn.mixture import GaussianMixture

from gpurank.method.clustering import by_time, fit
from gpurank.method.lloyd import batched_kmeans
from gpurank.method.noise import generator
from gpurank.method.settings import Floats, Ints, MethodSettings, one_thread

# Hennig's reading of the Jaccard mean: below this a cluster is not a stable one.
_STABLE = 0.75


@dataclass(frozen=True, slots=True)
class CountProfile:
    """What speaks for k clusters; field names are columns of analysis.cluster_count.

    ``gap`` and ``gap_sd`` are Tibshirani's, against uniform data in the principal box.
    ``bootstrap_ari`` is the mean adjusted Rand index between the clusters and those of resamples,
    over all rows; ``jaccard`` each cluster's mean best Jaccard overlap with a resample's clusters,
    in label order, and ``jaccard_low`` the least of them.
    ``submitter_ari`` is the mean adjusted Rand index with the clusters found without one submitter,
    over the rows of the others; ``submitter_ari_low`` the least, without ``submitter_low``.
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
    submitter_ari: float | None
    submitter_ari_low: float | None
    submitter_low: str | None
    ward_ari: float
    mixture_ari: float


def count_profile(
    values: Floats, time_min: Floats, owners: list[str], name: str, settings: MethodSettings
) -> list[CountProfile]:
    """A profile for each k of the settings, and the chosen one, that leaves enough points.

    Args:
        values: (n, d) features, rows in a canonical order.
        time_min: (n,) times that order the labels.
        owners: (n,) submitters.
        name: what the random stream is called (the benchmark).
        settings: the ks, bootstraps, references and seed.
    """
    points = len(np.unique(np.round(values, 9), axis=0))
    each = settings.cluster_minimum_points_each
    counts = sorted({*settings.cluster_counts, settings.cluster_count})
    with one_thread():
        data = _Data(values, _principal(values), time_min, owners, linkage(values, "ward"), name)
        return [_profile(data, count, settings) for count in counts if points >= each * count]


def count_note(profiles: list[CountProfile], chosen: int) -> str:
    """One sentence on how well the data supports the chosen k, and which k it would choose."""
    own = next((p for p in profiles if p.cluster_count == chosen), None)
    if own is None:
        return f"k = {chosen} leaves too few distinct points a cluster to be examined"
    stable = [p.cluster_count for p in profiles if p.is_stable]
    gap = max(profiles, key=lambda p: p.gap).cluster_count
    silhouette = max(profiles, key=lambda p: p.silhouette).cluster_count
    text = (
        f"k = {chosen} is {'stable' if own.is_stable else 'not stable'}: in resamples its weakest "
        f"cluster comes back with Jaccard {own.jaccard_low:.2f} ({_STABLE:.2f} needed), adjusted "
        f"Rand {own.bootstrap_ari:.2f}"
    )
    if own.submitter_ari_low is not None:
        text += f", without {own.submitter_low} {own.submitter_ari_low:.2f}"
    stable_text = ", ".join(map(str, stable)) or "none"
    return f"{text}; stable are {stable_text}; gap prefers {gap}, silhouette {silhouette}"


@dataclass(frozen=True, slots=True)
class _Data:
    values: Floats
    plane: Floats
    time_min: Floats
    owners: list[str]
    tree: Floats
    name: str


def _profile(data: _Data, count: int, settings: MethodSettings) -> CountProfile:
    raw, inertia = _labels(data, count, settings)
    labels = np.argsort(by_time(raw, data.time_min, count))[raw]
    ari, jaccard = _stability(data.plane, labels, count, data.name, settings)
    gap, gap_sd = _gap(data.plane, inertia, count, data.name, settings)
    without = _without_each(data, labels, count, settings)
    worst = min(without, key=lambda pair: pair[1], default=(None, None))
    mixture = GaussianMixture(count, n_init=2, random_state=settings.seed, reg_covar=1e-4)
    return CountProfile(
        cluster_count=count,
        inertia=inertia,
        silhouette=float(silhouette_score(data.values, labels)),
        calinski_harabasz=float(calinski_harabasz_score(data.values, labels)),
        gap=gap,
        gap_sd=gap_sd,
        bootstrap_ari=ari,
        jaccard=jaccard,
        jaccard_low=min(jaccard),
        is_stable=min(jaccard) >= _STABLE,
        submitter_ari=float(np.mean([v for _, v in without])) if without else None,
        submitter_ari_low=worst[1],
        submitter_low=worst[0],
        ward_ari=float(adjusted_rand_score(labels, fcluster(data.tree, count, "maxclust"))),
        mixture_ari=float(adjusted_rand_score(labels, mixture.fit_predict(data.plane))),
    )


def _labels(data: _Data, count: int, settings: MethodSettings) -> tuple[Ints, float]:
    """Labels and inertia: the published clusters for the chosen k, the same starts for others."""
    if count == settings.cluster_count:
        raw, _, inertia = fit(data.values, count, settings)
        return raw, inertia
    rng = generator(settings, data.name, "profile", str(count))
    ones = np.ones((1, len(data.values)))
    # Plain seeding needs more starts than the library's to find the same optimum.
    found = batched_kmeans(data.plane, ones, count, 6 * settings.cluster_starts, rng)
    return found.labels[0], float(found.inertia[0])


def _without_each(
    data: _Data, labels: Ints, count: int, settings: MethodSettings
) -> list[tuple[str, float]]:
    """Each submitter, and the adjusted Rand index of the others' rows clustered without it.

    A submitter without whom too few distinct points remain is left out.
    """
    owners = np.array(data.owners)
    weights = []
    for name in np.unique(owners).tolist():
        kept = owners != name
        points = len(np.unique(np.round(data.plane[kept], 9), axis=0))
        if points >= settings.cluster_minimum_points_each * count:
            weights.append((name, kept.astype(np.float64)))
    if not weights:
        return []
    rng = generator(settings, data.name, "submitter", str(count))
    fits = batched_kmeans(
        data.plane, np.stack([w for _, w in weights]), count, settings.cluster_submitter_starts, rng
    )
    whole = np.eye(count)[labels]
    return [
        (name, _ari((whole * kept[:, None]).T @ np.eye(count)[found]))
        for (name, kept), found in zip(weights, fits.labels, strict=True)
    ]


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
    whole, found = np.eye(count)[labels], np.eye(count)[fits.labels]
    scores = [_ari(table) for table in whole.T @ found]
    there = (weights > 0).astype(np.float64)
    shared = whole.T @ (found * there[:, :, None])
    mine, other = there @ whole, np.einsum("bn,bnk->bk", there, found)
    union = mine[:, :, None] + other[:, None, :] - shared
    best = np.where(union > 0, shared / np.where(union > 0, union, 1), 0).max(axis=2)
    return float(np.mean(scores)), tuple(float(v) for v in best.mean(axis=0))


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
