"""How well the data supports each number of clusters. docs/method.md, section 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score
from sklearn.mixture import GaussianMixture

from gpurank.method.arrays import Bools, Floats, Ints
from gpurank.method.batched_kmeans import batched_kmeans
from gpurank.method.clustering import Clustering, by_time, fit
from gpurank.method.noise import generator
from gpurank.method.settings import MethodSettings

# Hennig (2007): a cluster whose mean Jaccard overlap is below this is not stable.
_STABLE = 0.75
_MIXTURE_STARTS = 2
# Added to each variance of a mixture component, because coinciding points would have none.
_MIXTURE_VARIANCE = 1e-4


@dataclass(frozen=True, slots=True)
class CountProfile:
    """Measures of support for k clusters; field names are columns of analysis.cluster_count.

    ``gap`` and ``gap_sd`` are Tibshirani's, against uniform data in the box of principal axes.
    ``bootstrap_ari`` is the mean adjusted Rand index between the clusters and those of resamples,
    over all rows; ``jaccard`` is each cluster's mean best Jaccard overlap with a resample's
    clusters, in label order; ``jaccard_low`` is the lowest of them, and ``is_stable`` says whether
    it is high enough. Without resamples these four are None.
    ``submitter_ari`` is the mean adjusted Rand index with the clusters found without one submitter,
    over the rows of the others; ``submitter_ari_low`` is the lowest, without ``submitter_low``.
    ``ward_ari`` and ``mixture_ari`` are the agreement of Ward's method and a Gaussian mixture.
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
    submitters: list[str],
    name: str,
    settings: MethodSettings,
    published: Clustering | None = None,
) -> list[CountProfile]:
    """Returns a profile of each k in the settings, and of the chosen one, with enough points.

    Args:
        values: (n, d) features, rows in a canonical order.
        time_min: (n,) times that order the labels.
        submitters: (n,) submitters.
        name: names the random streams (the benchmark).
        settings: the ks, bootstraps, references and seed.
        published: the clusters of the chosen k; None: fitted here in the same way.
    """
    _, point = np.unique(np.round(values, 9), axis=0, return_inverse=True)
    point_count = int(point.max()) + 1
    minimum = settings.cluster_minimum_points_each
    counts = sorted({*settings.cluster_counts, settings.cluster_count})
    if published is not None and published.inertia is not None:
        chosen = (published.labels - 1, published.inertia)
    else:
        labels, _, inertia = fit(values, settings.cluster_count, settings)
        chosen = (labels, inertia)
    data = _Data(
        values=values,
        plane=_principal(values),
        time_min=time_min,
        left_out=_leave_out_each(submitters, point.reshape(-1)),
        tree=linkage(values, "ward"),
        name=name,
        chosen=chosen,
    )
    return [_profile(data, count, settings) for count in counts if point_count >= minimum * count]


def count_note(profiles: list[CountProfile], chosen: int) -> str:
    """Returns a sentence on how stable the chosen k is, and which k other measures prefer."""
    profile = next((p for p in profiles if p.cluster_count == chosen), None)
    if profile is None:
        return f"k = {chosen} leaves too few distinct points a cluster to be examined"
    stable = [p.cluster_count for p in profiles if p.is_stable]
    gap = max(profiles, key=lambda p: p.gap).cluster_count
    silhouette = max(profiles, key=lambda p: p.silhouette).cluster_count
    prefers = f"gap prefers {gap}, silhouette {silhouette}"
    if profile.jaccard_low is None:
        return f"k = {chosen}: how stable it is was not computed (no bootstraps); {prefers}"
    verdict = "stable" if profile.is_stable else "not stable"
    text = (
        f"k = {chosen} is {verdict}: in resamples its weakest cluster comes back with Jaccard "
        f"{profile.jaccard_low:.2f} ({_STABLE:.2f} needed), adjusted Rand "
        f"{profile.bootstrap_ari:.2f}"
    )
    if profile.submitter_ari_low is not None:
        text += f", without {profile.submitter_low} {profile.submitter_ari_low:.2f}"
    stable_text = ", ".join(map(str, stable)) or "none"
    return f"{text}; stable are {stable_text}; {prefers}"


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """The rows of all but one submitter, as weights (n,), and their number of distinct points."""

    submitter: str
    weights: Floats
    point_count: int


@dataclass(frozen=True, slots=True)
class _Data:
    """What the profiles of all k share; ``chosen`` are labels and inertia of the chosen k."""

    values: Floats
    plane: Floats
    time_min: Floats
    left_out: list[_LeftOut]
    tree: Floats
    name: str
    chosen: tuple[Ints, float]


def _profile(data: _Data, count: int, settings: MethodSettings) -> CountProfile:
    raw_labels, inertia = _labels(data, count, settings)
    labels = np.argsort(by_time(raw_labels, data.time_min, count))[raw_labels]
    bootstrap_ari, jaccard = _stability(data.plane, labels, count, data.name, settings)
    jaccard_low = None if jaccard is None else min(jaccard)
    gap, gap_sd = _gap(data.plane, inertia, count, data.name, settings)
    by_submitter = _agreement_without_each(data, labels, count, settings)
    worst = min(by_submitter, key=lambda pair: pair[1], default=(None, None))
    mixture = GaussianMixture(
        count, n_init=_MIXTURE_STARTS, reg_covar=_MIXTURE_VARIANCE, random_state=settings.seed
    )
    return CountProfile(
        cluster_count=count,
        inertia=inertia,
        silhouette=float(silhouette_score(data.values, labels)),
        calinski_harabasz=float(calinski_harabasz_score(data.values, labels)),
        gap=gap,
        gap_sd=gap_sd,
        bootstrap_ari=bootstrap_ari,
        jaccard=jaccard,
        jaccard_low=jaccard_low,
        is_stable=None if jaccard_low is None else jaccard_low >= _STABLE,
        submitter_ari=float(np.mean([ari for _, ari in by_submitter])) if by_submitter else None,
        submitter_ari_low=worst[1],
        submitter_low=worst[0],
        ward_ari=float(adjusted_rand_score(labels, fcluster(data.tree, count, "maxclust"))),
        mixture_ari=float(adjusted_rand_score(labels, mixture.fit_predict(data.plane))),
    )


def _labels(data: _Data, count: int, settings: MethodSettings) -> tuple[Ints, float]:
    """Returns labels and inertia: the published ones of the chosen k, fitted ones of others."""
    if count == settings.cluster_count:
        return data.chosen
    rng = generator(settings, data.name, "profile", str(count))
    ones = np.ones((1, len(data.values)))
    # Plain k-means++ needs more starts than scikit-learn's greedy one to find the same optimum.
    fits = batched_kmeans(data.plane, ones, count, 6 * settings.cluster_starts, rng)
    return fits.labels[0], float(fits.inertia[0])


def _agreement_without_each(
    data: _Data, labels: Ints, count: int, settings: MethodSettings
) -> list[tuple[str, float]]:
    """Returns per submitter the adjusted Rand index of the other rows clustered without it.

    A submitter without which too few distinct points remain is skipped.
    """
    needed = settings.cluster_minimum_points_each * count
    left_out = [rest for rest in data.left_out if rest.point_count >= needed]
    if not left_out:
        return []
    rng = generator(settings, data.name, "submitter", str(count))
    weights = np.stack([rest.weights for rest in left_out])
    fits = batched_kmeans(data.plane, weights, count, settings.cluster_submitter_starts, rng)
    weighted = (np.eye(count)[labels] * weights[:, :, None]).transpose(0, 2, 1)
    scores = _adjusted_rand(weighted @ np.eye(count)[fits.labels])
    return list(zip([rest.submitter for rest in left_out], scores.tolist(), strict=True))


def _leave_out_each(submitters: list[str], point: Ints) -> list[_LeftOut]:
    """Returns the remaining rows without each submitter; ``point`` (n,) numbers the points."""
    names, number = np.unique(np.array(submitters), return_inverse=True)
    left_out = []
    for i, name in enumerate(names.tolist()):
        rest = number != i
        left_out.append(_LeftOut(name, rest.astype(np.float64), len(np.unique(point[rest]))))
    return left_out


def _principal(values: Floats) -> Floats:
    """Returns coordinates along the principal axes that have any extent; distances stay the same.

    log AM = log T + log N, so the three features span a plane and the third axis is dropped.
    """
    centred = values - values.mean(axis=0)
    _, extent, axes = np.linalg.svd(centred, full_matrices=False)
    keep = extent > 1e-9 * max(float(extent[0]), 1e-300)
    # The sign of an axis is arbitrary; unless fixed, uniform references could differ by machine.
    axes = axes[keep]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    projected: Floats = centred @ axes.T
    return projected


def _stability(
    plane: Floats, labels: Ints, count: int, name: str, settings: MethodSettings
) -> tuple[float | None, tuple[float, ...] | None]:
    """Returns the mean adjusted Rand index over resamples, and each cluster's mean best Jaccard.

    The index is taken over all rows, the Jaccard overlap over the rows in the resample.
    """
    if not settings.cluster_bootstraps:
        return None, None
    rng = generator(settings, name, "bootstrap", str(count))
    size = len(plane)
    weights = rng.multinomial(size, np.full(size, 1 / size), settings.cluster_bootstraps)
    fits = batched_kmeans(
        plane, weights.astype(np.float64), count, settings.cluster_bootstrap_starts, rng
    )
    original, resampled = np.eye(count)[labels], np.eye(count)[fits.labels]
    scores = _adjusted_rand(original.T @ resampled)
    is_drawn = (weights > 0).astype(np.float64)
    shared = original.T @ (resampled * is_drawn[:, :, None])
    sizes, other_sizes = is_drawn @ original, np.einsum("bn,bnk->bk", is_drawn, resampled)
    union = sizes[:, :, None] + other_sizes[:, None, :] - shared
    best = np.where(union > 0, shared / np.where(union > 0, union, 1), 0).max(axis=2)
    return float(np.mean(scores)), tuple(float(v) for v in best.mean(axis=0))


def _adjusted_rand(tables: Floats) -> Floats:
    """Returns adjusted Rand indices (Hubert and Arabie 1985) of contingency tables: (..., r, c).

    scikit-learn's takes one pair of labellings a call; for some 20,000 resamples that takes longer
    than all other steps of the method together.
    """

    def pairs(x: Floats) -> Floats:
        return np.asarray(x * (x - 1) / 2)

    rows, columns = (pairs(tables.sum(axis=axis)).sum(axis=-1) for axis in (-1, -2))
    expected = rows * columns / pairs(tables.sum(axis=(-2, -1)))
    highest = (rows + columns) / 2
    excess = pairs(tables).sum(axis=(-2, -1)) - expected
    is_trivial: Bools = np.asarray(highest == expected)
    return np.asarray(
        np.where(is_trivial, 1.0, excess / np.where(is_trivial, 1.0, highest - expected))
    )


def _gap(
    plane: Floats, inertia: float, count: int, name: str, settings: MethodSettings
) -> tuple[float, float]:
    """Returns the gap statistic and its simulation error."""
    rng = generator(settings, name, "gap", str(count))
    low, high = plane.min(axis=0), plane.max(axis=0)
    references = rng.uniform(low, high, (settings.gap_references, *plane.shape))
    ones = np.ones(references.shape[:2])
    fits = batched_kmeans(references, ones, count, settings.cluster_bootstrap_starts, rng)
    logs = np.log(fits.inertia)
    error = float(logs.std() * np.sqrt(1 + 1 / settings.gap_references))
    return float(logs.mean() - np.log(max(inertia, 1e-300))), error
