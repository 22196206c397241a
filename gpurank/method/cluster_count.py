"""How well the data supports each number of clusters. docs/method.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn import config_context
from sklearn.metrics import calinski_harabasz_score, silhouette_score

from gpurank.method.batched_kmeans import batched_kmeans
from gpurank.method.clustering import Clustering, by_time, fit
from gpurank.method.mixture import mixture_labels
from gpurank.method.noise import generator
from gpurank.method.settings import Bools, Floats, Ints, MethodSettings, one_thread

# Hennig's reading of the Jaccard mean: below this a cluster is not a stable one.
_STABLE = 0.75


@dataclass(frozen=True, slots=True)
class CountProfile:
    """What speaks for k clusters; field names are columns of analysis.cluster_count.

    ``gap`` and ``gap_sd`` are Tibshirani's, against uniform data in the principal box.
    ``bootstrap_ari`` is the mean adjusted Rand index between the clusters and those of resamples,
    over all rows; ``jaccard`` each cluster's mean best Jaccard overlap with a resample's clusters,
    in label order, and ``jaccard_low`` the least of them.
    Without resamples these four are None.
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
    bootstrap_ari: float | None
    jaccard: tuple[float, ...] | None
    jaccard_low: float | None
    is_stable: bool | None
    submitter_ari: float | None
    submitter_ari_low: float | None
    submitter_low: str | None
    ward_ari: float
    mixture_ari: float


def count_profile(
    values: Floats,
    time_min: Floats,
    owners: list[str],
    name: str,
    settings: MethodSettings,
    published: Clustering | None = None,
) -> list[CountProfile]:
    """A profile for each k of the settings, and the chosen one, that leaves enough points.

    Args:
        values: (n, d) features, rows in a canonical order.
        time_min: (n,) times that order the labels.
        owners: (n,) submitters.
        name: what the random stream is called (the benchmark).
        settings: the ks, bootstraps, references and seed.
        published: the clusters of the chosen k; None: found here by the same fit.
    """
    _, point = np.unique(np.round(values, 9), axis=0, return_inverse=True)
    points = int(point.max()) + 1
    each = settings.cluster_minimum_points_each
    counts = sorted({*settings.cluster_counts, settings.cluster_count})
    # What is handed to the library is finite; to look again takes as long as its small fits.
    with one_thread(), config_context(assume_finite=True, skip_parameter_validation=True):
        if published is not None and published.inertia is not None:
            own = (published.labels - 1, published.inertia)
        else:
            raw, _, inertia = fit(values, settings.cluster_count, settings)
            own = (raw, inertia)
        tree = linkage(values, "ward")
        plane = _principal(values)
        others = _without(owners, point.reshape(-1))
        data = _Data(values, plane, time_min, others, tree, name, own)
        return [_profile(data, count, settings) for count in counts if points >= each * count]


def count_note(profiles: list[CountProfile], chosen: int) -> str:
    """One sentence on how well the data supports the chosen k, and which k it would choose."""
    own = next((p for p in profiles if p.cluster_count == chosen), None)
    if own is None:
        return f"k = {chosen} leaves too few distinct points a cluster to be examined"
    stable = [p.cluster_count for p in profiles if p.is_stable]
    gap = max(profiles, key=lambda p: p.gap).cluster_count
    silhouette = max(profiles, key=lambda p: p.silhouette).cluster_count
    prefers = f"gap prefers {gap}, silhouette {silhouette}"
    if own.jaccard_low is None:
        return f"k = {chosen}: how stable it is was not computed (no bootstraps); {prefers}"
    text = (
        f"k = {chosen} is {'stable' if own.is_stable else 'not stable'}: in resamples its weakest "
        f"cluster comes back with Jaccard {own.jaccard_low:.2f} ({_STABLE:.2f} needed), adjusted "
        f"Rand {own.bootstrap_ari:.2f}"
    )
    if own.submitter_ari_low is not None:
        text += f", without {own.submitter_low} {own.submitter_ari_low:.2f}"
    stable_text = ", ".join(map(str, stable)) or "none"
    return f"{text}; stable are {stable_text}; {prefers}"


@dataclass(frozen=True, slots=True)
class _Other:
    """The rows of all but one submitter: as weights (n,), and their distinct points."""

    without: str
    kept: Floats
    points: int


@dataclass(frozen=True, slots=True)
class _Data:
    values: Floats
    plane: Floats
    time_min: Floats
    others: list[_Other]
    tree: Floats
    name: str
    published: tuple[Ints, float]


def _profile(data: _Data, count: int, settings: MethodSettings) -> CountProfile:
    raw, inertia = _labels(data, count, settings)
    labels = np.argsort(by_time(raw, data.time_min, count))[raw]
    ari, jaccard = _stability(data.plane, labels, count, data.name, settings)
    least = None if jaccard is None else min(jaccard)
    gap, gap_sd = _gap(data.plane, inertia, count, data.name, settings)
    without = _without_each(data, labels, count, settings)
    worst = min(without, key=lambda pair: pair[1], default=(None, None))
    return CountProfile(
        cluster_count=count,
        inertia=inertia,
        silhouette=float(silhouette_score(data.values, labels)),
        calinski_harabasz=float(calinski_harabasz_score(data.values, labels)),
        gap=gap,
        gap_sd=gap_sd,
        bootstrap_ari=ari,
        jaccard=jaccard,
        jaccard_low=least,
        is_stable=None if least is None else least >= _STABLE,
        submitter_ari=float(np.mean([v for _, v in without])) if without else None,
        submitter_ari_low=worst[1],
        submitter_low=worst[0],
        ward_ari=_agreement(labels, fcluster(data.tree, count, "maxclust") - 1),
        mixture_ari=_agreement(labels, mixture_labels(data.plane, count, settings.seed)),
    )


def _labels(data: _Data, count: int, settings: MethodSettings) -> tuple[Ints, float]:
    """Labels and inertia: the published clusters for the chosen k, the same starts for others."""
    if count == settings.cluster_count:
        return data.published
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
    needed = settings.cluster_minimum_points_each * count
    others = [one for one in data.others if one.points >= needed]
    if not others:
        return []
    rng = generator(settings, data.name, "submitter", str(count))
    kept = np.stack([one.kept for one in others])
    fits = batched_kmeans(data.plane, kept, count, settings.cluster_submitter_starts, rng)
    tables = (np.eye(count)[labels] * kept[:, :, None]).transpose(0, 2, 1) @ np.eye(count)[
        fits.labels
    ]
    return list(zip([one.without for one in others], _ari(tables).tolist(), strict=True))


def _without(owners: list[str], point: Ints) -> list[_Other]:
    """Each submitter's others, by name; ``point`` (n,) numbers the distinct points."""
    found, owner = np.unique(np.array(owners), return_inverse=True)
    others = []
    for number, name in enumerate(found.tolist()):
        kept = owner != number
        others.append(_Other(name, kept.astype(np.float64), len(np.unique(point[kept]))))
    return others


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
) -> tuple[float | None, tuple[float, ...] | None]:
    """Mean adjusted Rand index, and each cluster's mean best Jaccard over the resampled rows."""
    if not settings.cluster_bootstraps:
        return None, None
    rng = generator(settings, name, "bootstrap", str(count))
    size = len(plane)
    weights = rng.multinomial(size, np.full(size, 1 / size), settings.cluster_bootstraps)
    fits = batched_kmeans(
        plane, weights.astype(np.float64), count, settings.cluster_bootstrap_starts, rng
    )
    whole, found = np.eye(count)[labels], np.eye(count)[fits.labels]
    scores = _ari(whole.T @ found)
    there = (weights > 0).astype(np.float64)
    shared = whole.T @ (found * there[:, :, None])
    mine, other = there @ whole, np.einsum("bn,bnk->bk", there, found)
    union = mine[:, :, None] + other[:, None, :] - shared
    best = np.where(union > 0, shared / np.where(union > 0, union, 1), 0).max(axis=2)
    return float(np.mean(scores)), tuple(float(v) for v in best.mean(axis=0))


def _agreement(one: Ints, other: Ints) -> float:
    """Adjusted Rand index of two labellings from 0."""
    return float(_ari(np.eye(one.max() + 1)[one].T @ np.eye(other.max() + 1)[other]))


def _ari(tables: Floats) -> Floats:
    """Adjusted Rand index of contingency tables (Hubert and Arabie): (..., r, c) to (...)."""

    def pairs(x: Floats) -> Floats:
        return np.asarray(x * (x - 1) / 2)

    rows, columns = (pairs(tables.sum(axis=axis)).sum(axis=-1) for axis in (-1, -2))
    expected = rows * columns / pairs(tables.sum(axis=(-2, -1)))
    most = (rows + columns) / 2
    above = pairs(tables).sum(axis=(-2, -1)) - expected
    same: Bools = np.asarray(most == expected)
    return np.asarray(np.where(same, 1.0, above / np.where(same, 1.0, most - expected)))


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
