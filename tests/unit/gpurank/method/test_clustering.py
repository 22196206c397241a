"""Stage 2: planted groups are recovered, a cloud is called unstable, labels stand still."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from gpurank.method.batched_kmeans import batched_kmeans
from gpurank.method.cluster_count import CountProfile, _adjusted_rand, count_note, count_profile
from gpurank.method.clustering import cluster, cluster_name, profile, restore, scale
from gpurank.method.configurations import floats
from gpurank.method.settings import MethodError, MethodSettings

SETTINGS = MethodSettings(cluster_starts=20, cluster_bootstraps=30, gap_references=5)
# Centres of five planted groups: time, accelerators.
GROUPS = ((0.6, 1024), (4.5, 64), (13.0, 8), (31.0, 8), (70.0, 8))


def planted(configurations: Any, each: int = 14) -> tuple[pl.DataFrame, list[int]]:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(len(GROUPS)), each)
    time = [GROUPS[i][0] * float(np.exp(rng.normal(0, 0.08))) for i in truth]
    count = [int(GROUPS[i][1] * rng.choice([1, 1, 1, 2])) if i < 2 else 8 for i in truth]
    family = [("TPU", "A100", "H100", "A100", "V100")[i] for i in truth]
    frame = configurations(score_min=time, accelerator_count=count, accelerator_family=family)
    return frame, truth.tolist()


def test_five_planted_groups_are_recovered(configurations: Any) -> None:
    frame, truth = planted(configurations)
    found = cluster(frame, "resnet", SETTINGS)
    assert adjusted_rand_score(truth, found.labels) > 0.9
    # Labels rise with time, so they are the truth's order.
    assert (found.labels - 1).tolist() == truth
    names = [p.name for p in profile(found, frame, SETTINGS)]
    assert names == [
        "massive TPU, low efficiency",
        "scale-out A100, moderate efficiency",
        "single-server H100, best efficiency",
        "single-server A100, good efficiency",
        "single-server V100, low efficiency",
    ]


def test_row_order_and_threads_change_no_label(configurations: Any) -> None:
    frame, _ = planted(configurations)
    first = cluster(frame, "resnet", SETTINGS)
    with threadpool_limits(2):
        again = cluster(frame.sample(fraction=1, shuffle=True, seed=1), "resnet", SETTINGS)
    assert first.result_ids == again.result_ids
    assert first.labels.tolist() == again.labels.tolist()
    assert first.inertia == again.inertia


def test_fewer_distinct_points_than_three_a_cluster_are_refused(configurations: Any) -> None:
    frame = configurations(score_min=[1.0, 2.0, 3.0, 4.0] * 20)
    found = cluster(frame, "resnet", SETTINGS)
    assert found.reason == "4 distinct points, 15 needed for 5 clusters"
    assert found.inertia is None
    assert found.label(frame) == [None] * 80
    assert profile(found, frame, SETTINGS) == []


def test_too_few_rows_are_refused(configurations: Any) -> None:
    found = cluster(configurations(score_min=[1.0 + i for i in range(29)]), "x", SETTINGS)
    assert found.reason == "29 rows, 30 needed"
    empty = cluster(configurations(score_min=[1.0]).clear(), "x", SETTINGS)
    assert empty.reason == "0 rows, 30 needed"


def test_a_feature_of_zero_is_an_error(configurations: Any) -> None:
    frame = configurations(score_min=[0.0] + [1.0 + i for i in range(40)])
    with pytest.raises(MethodError, match="above 0"):
        cluster(frame, "x", SETTINGS)


def test_features_are_log10_z_scores_with_the_population_sd(configurations: Any) -> None:
    # log10 of 1, 10, 100 is 0, 1, 2: mean 1, population SD sqrt(2/3).
    features = scale(configurations(score_min=[1.0, 10.0, 100.0]), ("score_min",))
    assert features.values[:, 0] == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])
    flat = scale(configurations(score_min=[2.0, 2.0]), ("score_min",))
    assert flat.values[:, 0].tolist() == [0.0, 0.0]


def test_further_rows_get_the_nearest_cluster(configurations: Any) -> None:
    frame, _ = planted(configurations)
    found = cluster(frame, "resnet", SETTINGS)
    assert found.label(frame) == found.labels.tolist()
    labelled = frame.with_columns(cluster_label=pl.Series(found.labels))
    again = restore(labelled, "resnet", SETTINGS)
    other = configurations(score_min=[14.0, 0.5, 20.0], accelerator_count=[8, 1024, None])
    assert again.label(other) == [3, 1, None]
    assert again.inertia == pytest.approx(found.inertia)


@pytest.mark.parametrize(
    ("count", "families", "ratio", "name"),
    [
        (16, [("A", 8, 0.8)], 1.25, "single-server A, best efficiency"),
        (17, [("A", 5, 0.5), ("B", 2, 0.2)], 2.5, "scale-out A/B, good efficiency"),
        (255, [("A", 2, 0.19)], 4.0, "scale-out mixed, moderate efficiency"),
        (256, [("A", 3, 0.3), ("B", 3, 0.3), ("C", 3, 0.3)], 4.1, "massive A/B, low efficiency"),
    ],
)
def test_names_follow_the_rule(count: int, families: Any, ratio: float, name: str) -> None:
    assert cluster_name(count, families, ratio) == name


def test_small_clusters_are_marked(configurations: Any) -> None:
    frame, _ = planted(configurations, each=9)
    found = cluster(frame, "resnet", SETTINGS)
    assert all(p.is_small for p in profile(found, frame, SETTINGS))
    frame, _ = planted(configurations, each=10)
    found = cluster(frame, "resnet", SETTINGS)
    assert not any(p.is_small for p in profile(found, frame, SETTINGS))


def test_skewed_counts_do_not_swallow_the_rest(configurations: Any) -> None:
    # Unlogged, one giant would be a cluster and all else another.
    rng = np.random.default_rng(1)
    count = [8] * 20 + [64] * 10 + [3584]
    time = [100 / n * float(np.exp(rng.normal(0, 0.05))) for n in count]
    found = cluster(
        configurations(score_min=time, accelerator_count=count),
        "x",
        replace(SETTINGS, cluster_count=3),
    )
    assert found.labels.tolist() == [3] * 20 + [2] * 10 + [1]


def profiles(values: Any, time: Any, own: MethodSettings = SETTINGS) -> dict[int, CountProfile]:
    owners = [f"submitter {i % 7}" for i in range(len(values))]
    return {p.cluster_count: p for p in count_profile(values, time, owners, "x", own)}


def test_planted_groups_are_stable_and_a_cloud_is_not(configurations: Any) -> None:
    frame, _ = planted(configurations)
    features = scale(frame, SETTINGS.features)
    rows = profiles(features.values, floats(frame, "score_min"))
    assert rows[5].is_stable and rows[5].bootstrap_ari > 0.95
    assert rows[5].ward_ari > 0.95 and rows[5].mixture_ari > 0.9
    assert rows[5].submitter_ari_low is not None and rows[5].submitter_ari_low > 0.95
    assert count_note(list(rows.values()), 5).startswith("k = 5 is stable: ")
    cloud = np.random.default_rng(2).normal(size=(150, 2))
    found = profiles(cloud, np.exp(cloud[:, 0]), replace(SETTINGS, cluster_counts=(5,)))
    assert not found[5].is_stable
    assert found[5].bootstrap_ari < 0.8
    assert found[5].bootstrap_ari < rows[5].bootstrap_ari
    note = count_note(list(found.values()), 5)
    assert note.startswith("k = 5 is not stable: ") and "stable are none" in note


def test_a_submitter_that_makes_a_cluster_alone_is_named() -> None:
    # Groups at 0, 10 and 20; all of the last are one submitter's.
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(c, 0.1, (20, 2)) for c in (0, 10, 20)])
    owners = [f"s{i % 4}" for i in range(40)] + ["alone"] * 20
    own = replace(SETTINGS, cluster_count=3, cluster_counts=(3,))
    found = count_profile(values, np.exp(values[:, 0]), owners, "x", own)[0]
    assert found.submitter_low == "alone"
    assert found.submitter_ari_low is not None and found.submitter_ari_low < 0.9
    # Without any of the four others all three groups remain: (4 x 1 + the one) / 5.
    assert found.submitter_ari == pytest.approx((4 + found.submitter_ari_low) / 5)


def test_ks_that_the_points_cannot_carry_are_left_out() -> None:
    values = np.repeat(np.arange(9.0)[:, None], 6, axis=0)
    assert list(profiles(values, np.exp(values[:, 0]))) == [2, 3]


def test_a_k_outside_the_examined_ones_is_examined_too() -> None:
    values = np.random.default_rng(6).normal(size=(60, 2))
    own = replace(SETTINGS, cluster_counts=(2, 3), cluster_count=9)
    found = profiles(values, np.exp(values[:, 0]), own)
    assert list(found) == [2, 3, 9]
    assert count_note([found[2]], 9).startswith("k = 9 leaves too few")


def test_batched_kmeans_reaches_the_inertia_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(c, 0.3, (30, 2)) for c in ((0, 0), (4, 0), (0, 4))])
    weights = rng.multinomial(90, np.full(90, 1 / 90), 6).astype(float)
    fits = batched_kmeans(points, weights, 3, 8, rng)
    for b in range(6):
        model = KMeans(3, n_init=20, random_state=0).fit(points, sample_weight=weights[b])
        assert fits.inertia[b] == pytest.approx(model.inertia_)
        assert adjusted_rand_score(fits.labels[b], model.predict(points)) == 1.0
    own = batched_kmeans(np.stack([points, points + 1]), np.ones((2, 90)), 3, 4, rng)
    assert own.inertia[0] == pytest.approx(own.inertia[1])


def test_adjusted_rand_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    table = np.eye(3)[a].T @ np.eye(3)[b]
    assert _adjusted_rand(table) == pytest.approx(adjusted_rand_score(a, b))
    assert _adjusted_rand(np.eye(3)[a].T @ np.eye(3)[a]) == 1.0
