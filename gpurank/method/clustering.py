"""Stage 2: clusters the configurations of a benchmark by time, size and accelerator-minutes.

K-means on z-scored log10 features. Labels are 1.. by ascending median time, so that they do not
depend on the random start; a rule names the clusters. docs/method.md, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn.cluster import KMeans

from gpurank.method.arrays import Bools, Floats, Ints
from gpurank.method.configurations import floats
from gpurank.method.settings import MethodError, MethodSettings

# Largest median count of a cluster of this name, in accelerators.
_SINGLE_SERVER, _SCALE_OUT = 16, 255
# Highest ratio of median accelerator-minutes to the best cluster's for each word.
_EFFICIENCY = ((1.25, "best"), (2.5, "good"), (4.0, "moderate"))
_FAMILY_SHARE = 0.20


@dataclass(frozen=True, slots=True)
class Features:
    """z-scored log10 features of n rows: ``values`` (n, d), with the mean and SD of the logs."""

    names: tuple[str, ...]
    values: Floats
    mean: Floats
    sd: Floats


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of one benchmark, or the ``reason`` why there are none (the rest is then empty).

    ``labels`` are 1..k by ascending median time, aligned with ``result_ids``; ``centres`` (k, d)
    are in feature space, in label order.
    """

    benchmark: str
    result_ids: tuple[str, ...]
    labels: Ints
    features: Features | None
    centres: Floats
    inertia: float | None
    reason: str | None = None

    def label(self, frame: pl.DataFrame) -> list[int | None]:
        """Returns each row's nearest cluster; None without clusters, score or accelerators."""
        if self.features is None:
            return [None] * len(frame)
        raw = np.column_stack([floats(frame, name) for name in self.features.names])
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (np.log10(raw) - self.features.mean) / self.features.sd
        usable: Bools = np.asarray(np.isfinite(z).all(axis=1))
        nearest = _nearest(np.where(usable[:, None], z, 0.0), self.centres)
        return [int(nearest[i]) + 1 if usable[i] else None for i in range(len(nearest))]


@dataclass(frozen=True, slots=True)
class ClusterProfile:
    """Describes one cluster; field names are columns of analysis.cluster_profile."""

    cluster_label: int
    name: str
    member_count: int
    is_small: bool
    median_score_min: float
    median_accelerator_count: float
    median_accelerator_minutes: float
    accelerator_minutes_ratio: float
    share_4_to_16: float
    leading_families: str


def scale(frame: pl.DataFrame, names: tuple[str, ...]) -> Features:
    """Returns log10 features as z-scores (population SD); a feature without spread is 0.

    Raises:
        MethodError: a value is missing or not above 0.
    """
    raw = np.column_stack([floats(frame, name) for name in names])
    if not (raw > 0).all():
        raise MethodError(f"clustering needs {', '.join(names)} above 0 in every row")
    logs = np.log10(raw)
    mean, sd = logs.mean(axis=0), logs.std(axis=0)
    sd = np.where(sd > 1e-12, sd, 1.0)
    return Features(names, (logs - mean) / sd, mean, sd)


def refusal(values: Floats, settings: MethodSettings) -> str | None:
    """Returns why these rows cannot be clustered into k groups; None if they can."""
    if len(values) < settings.cluster_minimum_rows:
        return f"{len(values)} rows, {settings.cluster_minimum_rows} needed"
    points = len(np.unique(np.round(values, 9), axis=0))
    needed = settings.cluster_minimum_points_each * settings.cluster_count
    if points < needed:
        return f"{points} distinct points, {needed} needed for {settings.cluster_count} clusters"
    return None


def cluster(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Clustering:
    """Clusters the rows of one benchmark's analysis set.

    Args:
        frame: rows with result_id and the feature columns, in any order.
        benchmark: its name, repeated in the result.
        settings: k, features, starts, seed and minimums.

    Raises:
        MethodError: a feature is missing or not above 0 in some row.
    """
    rows = frame.sort("result_id")
    ids = tuple(rows["result_id"].to_list())
    features = scale(rows, settings.features) if len(rows) else None
    values = np.empty((0, len(settings.features))) if features is None else features.values
    reason = refusal(values, settings)
    if reason is not None:
        empty = np.empty((0, len(settings.features)))
        return Clustering(benchmark, (), np.empty(0, dtype=np.int64), None, empty, None, reason)
    raw, centres, inertia = fit(values, settings.cluster_count, settings)
    order = by_time(raw, floats(rows, "score_min"), settings.cluster_count)
    labels = (np.argsort(order)[raw] + 1).astype(np.int64)
    return Clustering(benchmark, ids, labels, features, centres[order], inertia)


def by_time(labels: Ints, time_min: Floats, count: int) -> Ints:
    """Returns the raw labels 0..count-1 sorted by their median times."""
    medians = [float(np.median(time_min[labels == i])) for i in range(count)]
    return np.argsort(medians, kind="stable").astype(np.int64)


def restore(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Clustering:
    """Rebuilds the clustering from a frame with ``cluster_label``, to label other rows.

    Args:
        frame: the members with their feature columns; empty: no clusters.
    """
    rows = frame.sort("result_id")
    empty = np.empty((0, len(settings.features)))
    if not len(rows):
        no_labels = np.empty(0, dtype=np.int64)
        return Clustering(benchmark, (), no_labels, None, empty, None, "no clusters")
    features = scale(rows, settings.features)
    labels = rows["cluster_label"].to_numpy().astype(np.int64)
    centres = np.stack(
        [features.values[labels == i].mean(axis=0) for i in range(1, int(labels.max()) + 1)]
    )
    inertia = float(((features.values - centres[labels - 1]) ** 2).sum())
    return Clustering(
        benchmark, tuple(rows["result_id"].to_list()), labels, features, centres, inertia
    )


def fit(values: Floats, count: int, settings: MethodSettings) -> tuple[Ints, Floats, float]:
    """Returns labels 0.., centres and inertia of the best of many K-means starts."""
    model = KMeans(count, n_init=settings.cluster_starts, random_state=settings.seed)
    labels = model.fit_predict(values)
    return labels.astype(np.int64), model.cluster_centers_, float(model.inertia_)


def profile(
    clustering: Clustering, frame: pl.DataFrame, settings: MethodSettings
) -> list[ClusterProfile]:
    """Returns each cluster's size, speed, efficiency, families and name, in label order."""
    rows = frame.sort("result_id").filter(pl.col("result_id").is_in(clustering.result_ids))
    minutes = floats(rows, "accelerator_minutes")
    count, time = floats(rows, "accelerator_count"), floats(rows, "score_min")
    labels = np.unique(clustering.labels).tolist()
    medians = {i: float(np.median(minutes[clustering.labels == i])) for i in labels}
    best = min(medians.values(), default=1.0)
    result = []
    for label in labels:
        inside = clustering.labels == label
        families = _families(rows.filter(pl.Series(inside))["accelerator_family"])
        size = float(np.median(count[inside]))
        ratio = medians[label] / best
        result.append(
            ClusterProfile(
                cluster_label=int(label),
                name=cluster_name(size, families, ratio),
                member_count=int(inside.sum()),
                is_small=int(inside.sum()) < settings.cluster_small,
                median_score_min=float(np.median(time[inside])),
                median_accelerator_count=size,
                median_accelerator_minutes=medians[label],
                accelerator_minutes_ratio=ratio,
                share_4_to_16=float(((count[inside] >= 4) & (count[inside] <= 16)).mean()),
                leading_families=", ".join(f"{name} {n}" for name, n, _ in families[:3]),
            )
        )
    return result


def cluster_name(median_count: float, families: list[tuple[str, int, float]], ratio: float) -> str:
    """Returns a name such as ``single-server H100, best efficiency``.

    Args:
        median_count: median accelerators.
        families: (name, rows, share), largest first.
        ratio: median accelerator-minutes divided by those of the best cluster.
    """
    if median_count <= _SINGLE_SERVER:
        size = "single-server"
    elif median_count <= _SCALE_OUT:
        size = "scale-out"
    else:
        size = "massive"
    leading = [name for name, _, share in families if share >= _FAMILY_SHARE][:2]
    efficiency = next((word for bound, word in _EFFICIENCY if ratio <= bound), "low")
    return f"{size} {'/'.join(leading) or 'mixed'}, {efficiency} efficiency"


def _families(values: pl.Series) -> list[tuple[str, int, float]]:
    """Returns (name, rows, share) of each family, largest first."""
    names = values.fill_null("unknown").to_list()
    counts = sorted(((name, names.count(name)) for name in set(names)), key=lambda p: (-p[1], p[0]))
    return [(name, n, n / len(names)) for name, n in counts]


def _nearest(values: Floats, centres: Floats) -> Ints:
    """Returns the index of the nearest of (k, d) centres for each of (n, d) points."""
    distances = ((values[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearest: Ints = distances.argmin(axis=1).astype(np.int64)
    return nearest
