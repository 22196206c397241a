"""Stage 2: group the configurations of a benchmark by time, size and accelerator-minutes.

K-means on z-scored log10 features; labels 1.. by ascending median time, so that they never
permute; names by rule. docs/method.md, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn import config_context
from sklearn.cluster import KMeans

from gpurank.method.seeding import seeding
from gpurank.method.settings import (
    Bools,
    Floats,
    Ints,
    MethodError,
    MethodSettings,
    floats,
    one_thread,
)

_SINGLE_SERVER, _SCALE_OUT = 16, 255
_EFFICIENCY = ((1.25, "best"), (2.5, "good"), (4.0, "moderate"))
_FAMILY_SHARE = 0.20


@dataclass(frozen=True, slots=True)
class Features:
    """The z-scored log10 features of n rows, and how they were scaled."""

    names: tuple[str, ...]
    values: Floats
    mean: Floats
    sd: Floats


@dataclass(frozen=True, slots=True)
class Clustering:
    """Clusters of one benchmark, or the ``reason`` why there are none (then all else is empty).

    ``labels`` are 1..k by ascending median time, aligned with ``result_ids``; ``centres`` are in
    feature space in label order.
    """

    benchmark: str
    result_ids: tuple[str, ...]
    labels: Ints
    features: Features | None
    centres: Floats
    inertia: float | None
    reason: str | None = None

    def label(self, frame: pl.DataFrame) -> list[int | None]:
        """The nearest cluster of each row; None without clusters, score or accelerators."""
        if self.features is None:
            return [None] * len(frame)
        raw = np.column_stack([floats(frame, name) for name in self.features.names])
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (np.log10(raw) - self.features.mean) / self.features.sd
        usable: Bools = np.asarray(np.isfinite(z).all(axis=1))
        near = _nearest(np.where(usable[:, None], z, 0.0), self.centres)
        return [int(near[i]) + 1 if usable[i] else None for i in range(len(near))]


@dataclass(frozen=True, slots=True)
class ClusterProfile:
    """One cluster in words and numbers; field names are columns of analysis.cluster_profile."""

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
    """log10 and z-score with the population SD; a feature without spread stays at 0.

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
    """Why these rows cannot be clustered into k groups; None where they can."""
    if len(values) < settings.cluster_minimum_rows:
        return f"{len(values)} rows, {settings.cluster_minimum_rows} needed"
    points = len(np.unique(np.round(values, 9), axis=0))
    needed = settings.cluster_minimum_points_each * settings.cluster_count
    if points < needed:
        return f"{points} distinct points, {needed} needed for {settings.cluster_count} clusters"
    return None


def cluster(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Clustering:
    """Cluster the rows of one benchmark's analysis set.

    Args:
        frame: rows with result_id and the feature columns, in any order.
        benchmark: its name, carried into the result.
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
    """The raw labels 0..count-1 in the order of their median times: the canonical order."""
    medians = [float(np.median(time_min[labels == i])) for i in range(count)]
    return np.argsort(medians, kind="stable").astype(np.int64)


def restore(frame: pl.DataFrame, benchmark: str, settings: MethodSettings) -> Clustering:
    """The clustering that a frame's ``cluster_label`` column came from, to label further rows.

    Args:
        frame: the members with their feature columns; may be empty (then no clusters).
    """
    rows = frame.sort("result_id")
    empty = np.empty((0, len(settings.features)))
    if not len(rows):
        none = np.empty(0, dtype=np.int64)
        return Clustering(benchmark, (), none, None, empty, None, "no clusters")
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
    """K-means with many starts, the lowest inertia kept: labels 0.., centres, inertia."""
    # The values are finite; to check them for each of many starts takes as long as the starts.
    with one_thread(), config_context(assume_finite=True, skip_parameter_validation=True):
        starts, seed = settings.cluster_starts, settings.seed
        init = seeding(values, count, starts, np.random.RandomState(seed))
        model = KMeans(count, init=init, n_init=starts, random_state=seed)
        labels = model.fit_predict(values)
    return labels.astype(np.int64), model.cluster_centers_, float(model.inertia_)


def profile(
    clustering: Clustering, frame: pl.DataFrame, settings: MethodSettings
) -> list[ClusterProfile]:
    """Size, speed, efficiency and families of each cluster, with a name made of them by rule."""
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
    """Size, leading families and efficiency, such as ``single-server H100, best efficiency``.

    Args:
        median_count: median accelerators.
        families: (name, rows, share), largest first.
        ratio: median accelerator-minutes over the best cluster's.
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
    names = values.fill_null("unknown").to_list()
    counts = sorted(((name, names.count(name)) for name in set(names)), key=lambda p: (-p[1], p[0]))
    return [(name, n, n / len(names)) for name, n in counts]


def _nearest(values: Floats, centres: Floats) -> Ints:
    apart = ((values[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    near: Ints = apart.argmin(axis=1).astype(np.int64)
    return near
