"""Stage 1: planted variables are found, noise is not, and the arithmetic is that of the books."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata, spearmanr
from threadpoolctl import threadpool_limits

from gpurank.method.ranks import project_out, rank_covariances, spearman, weighted_ranks
from gpurank.method.selection import (
    COLUMNS,
    Selection,
    candidates,
    redundancy_groups,
    screen,
    select,
)
from gpurank.method.settings import MethodError, MethodSettings

SETTINGS = MethodSettings(selection_bootstraps=60)


def planted(configurations: Any, size: int = 300, seed: int = 1) -> pl.DataFrame:
    """ln T = -0.9 ln N - 0.5 link + noise; every other variable is independent of it."""
    rng = np.random.default_rng(seed)
    nodes = rng.choice([1, 2, 4, 8, 16], size)
    link = rng.integers(0, 4, size)
    noise = {
        "cores_per_socket": rng.integers(16, 128, size),
        "cpu_launch_year": rng.integers(2015, 2025, size),
        "accelerator_launch_year": rng.integers(2015, 2025, size),
        "memory_per_node_gib": rng.uniform(100, 4000, size),
        "network_gbps_per_node": rng.uniform(100, 4000, size),
        "round_index": rng.integers(0, 6, size),
    }
    time = np.exp(6 - 0.9 * np.log(8 * nodes) - 0.5 * link + rng.normal(0, 0.1, size))
    return configurations(
        score_min=time.tolist(),
        accelerator_count=(8 * nodes).tolist(),
        node_count=nodes.tolist(),
        link_rank=link.tolist(),
        core_count=(2 * nodes * noise["cores_per_socket"]).tolist(),
        socket_count=(2 * nodes).tolist(),
        submitter=[f"submitter {i}" for i in rng.integers(0, 20, size)],
        cpu_vendor=rng.choice(["AMD", "Intel"], size).tolist(),
        **{name: values.tolist() for name, values in noise.items()},
    )


def chosen(selection: Selection) -> list[str]:
    listed = [v for v in selection.variables if v.is_selected]
    return [v.variable for v in sorted(listed, key=lambda v: v.selection_order or 0)]


def group_of(selection: Selection, name: str) -> set[str]:
    group = next(v.group_id for v in selection.variables if v.variable == name)
    return {v.variable for v in selection.variables if v.group_id == group}


def test_weighted_ranks_are_those_of_the_resample_written_out() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, (30, 3)).astype(float)
    weights = rng.integers(0, 4, (5, 30)).astype(float)
    ranks = weighted_ranks(values, weights)
    for b in range(5):
        copies = weights[b].astype(int)
        for column in range(3):
            written = rankdata(np.repeat(values[:, column], copies))
            there = copies > 0
            expected = written - written.mean()
            np.testing.assert_allclose(
                np.repeat(ranks[b, there, column], copies[there]), expected, atol=1e-9
            )


def test_missing_values_stand_at_the_mean_rank() -> None:
    ranks = weighted_ranks(np.array([[1.0], [np.nan], [3.0]]), np.ones((1, 3)))
    assert ranks[0, :, 0].tolist() == [-0.5, 0.0, 0.5]


def test_spearman_agrees_with_scipy_on_the_rows_that_know_both() -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(0, 9, (40, 3)).astype(float)
    values[3:9, 1] = np.nan
    found = spearman(values)
    known = ~np.isnan(values[:, 1])
    assert found[0, 2] == pytest.approx(spearmanr(values[:, 0], values[:, 2]).statistic)
    assert found[0, 1] == pytest.approx(spearmanr(values[known, 0], values[known, 1]).statistic)


def test_projection_gives_the_textbook_partial_correlation() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=200)
    values = np.column_stack([z + rng.normal(size=200), z, z + rng.normal(size=200)])
    rho = spearmanr(values).statistic
    expected = (rho[0, 2] - rho[0, 1] * rho[1, 2]) / np.sqrt(
        (1 - rho[0, 1] ** 2) * (1 - rho[1, 2] ** 2)
    )
    cov = rank_covariances(values, np.ones((1, 200)))
    left = project_out(cov, np.array([1]), np.zeros((1, 3)), np.array([True]))[0]
    assert left[0, 2] / np.sqrt(left[0, 0] * left[2, 2]) == pytest.approx(expected, abs=1e-12)


def test_planted_variables_are_found_and_noise_is_not(configurations: Any) -> None:
    selection = select(planted(configurations), "resnet", "score_min", SETTINGS)
    found = chosen(selection)
    # Count and nodes are one thing here (8 a node), so either may stand for their group.
    assert len(found) == 2
    assert found[0] in group_of(selection, "accelerator_count")
    assert found[1] == "link_rank"
    assert "cpu_launch_year" not in found
    by_name = {v.variable: v for v in selection.variables}
    assert by_name[found[0]].stability == 1.0
    assert by_name[found[0]].partial_correlation < -0.7
    assert by_name["cpu_launch_year"].dropped_reason == "adds less than 0.20"


def test_a_duplicate_column_keeps_the_groups_result(configurations: Any) -> None:
    frame = planted(configurations)
    before = select(frame, "resnet", "score_min", SETTINGS)
    doubled = frame.with_columns(zz_link=pl.col("link_rank") * 10)
    after = select(doubled, "resnet", "score_min", SETTINGS, (*COLUMNS, "zz_link"))
    assert chosen(before) == chosen(after)
    by_name = {v.variable: v for v in after.variables}
    assert by_name["zz_link"].group_id == by_name["link_rank"].group_id
    assert by_name["zz_link"].stability == by_name["link_rank"].stability
    assert by_name["zz_link"].dropped_reason == "goes with link_rank"
    assert {v.variable: v.stability for v in before.variables}["link_rank"] == (
        by_name["link_rank"].stability
    )


@pytest.mark.parametrize("relative", ["accelerator_minutes", "unscaled_min", "throughput_per_s"])
def test_a_relative_of_the_target_is_refused(configurations: Any, relative: str) -> None:
    with pytest.raises(MethodError, match=relative):
        select(planted(configurations), "resnet", "score_min", SETTINGS, (*COLUMNS, relative))


def test_row_order_and_threads_change_nothing(configurations: Any) -> None:
    frame = planted(configurations)
    with threadpool_limits(2):
        first = select(frame, "resnet", "score_min", SETTINGS)
    assert first == select(frame.sample(fraction=1, shuffle=True, seed=3), "resnet", "score_min",
                           SETTINGS)  # fmt: skip


def test_an_effect_of_one_submitter_alone_is_not_selected(configurations: Any) -> None:
    # Only one of twelve submitters shows it, so a third of the resamples lack it altogether.
    rng = np.random.default_rng(5)
    size = 120
    owner = np.arange(size) % 12
    year = np.where(owner == 0, 2010 + np.arange(size) // 12, 2020)
    time = np.where(owner == 0, 1000.0 - 90 * (year - 2010), rng.uniform(10, 11, size))
    frame = configurations(
        score_min=time.tolist(),
        cpu_launch_year=year.tolist(),
        submitter=[f"s{i}" for i in owner],
        cores_per_socket=rng.integers(16, 128, size).tolist(),
    )
    settings = replace(SETTINGS, selection_bootstraps=300)
    selection = select(frame, "resnet", "score_min", settings)
    year_row = next(v for v in selection.variables if v.variable == "cpu_launch_year")
    assert year_row.stability == pytest.approx(1 - (11 / 12) ** 12, abs=0.1)


def test_screen_names_missing_and_constant_variables(configurations: Any) -> None:
    table = {
        "gaps": np.array([1.0, 2.0, np.nan, np.nan]),
        "flat": np.array([1.0, 1.0, 1.0, 1.0]),
        "fine": np.array([1.0, 2.0, 3.0, np.nan]),
    }
    assert screen(table, SETTINGS) == {
        "gaps": "unknown in 50% of rows",
        "flat": "one value in 100% of rows",
    }


def test_cpu_vendors_are_indicators_and_a_missing_one_stays_unknown(configurations: Any) -> None:
    table = candidates(configurations(cpu_vendor=["AMD", "Intel", None]))
    assert table["is_cpu_amd"].tolist()[:2] == [1.0, 0.0]
    assert np.isnan(table["is_cpu_amd"][2])
    assert "is_cpu_intel" in table


def test_groups_are_numbered_by_their_first_member() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=50), rng.normal(size=50)
    assert redundancy_groups(np.column_stack([x, y, -x]), 0.3).tolist() == [1, 2, 1]
    assert redundancy_groups(x[:, None], 0.3).tolist() == [1]


def test_too_few_rows_or_submitters_say_so(configurations: Any) -> None:
    small = select(configurations(score_min=[1.0, 2.0]), "resnet", "score_min", SETTINGS)
    assert small.reason == "2 rows, 30 needed"
    assert {v.dropped_reason for v in small.variables} == {"2 rows, 30 needed"}
    one = configurations(score_min=[1.0 + i for i in range(40)], submitter="only")
    assert select(one, "resnet", "score_min", SETTINGS).reason == "1 submitters, 5 needed"


def test_one_round_has_no_date_to_control_for(configurations: Any) -> None:
    frame = planted(configurations).with_columns(round_index=pl.lit(4))
    assert "link_rank" in chosen(select(frame, "resnet", "score_min", SETTINGS))
