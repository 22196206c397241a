"""Edges of the ranking that planted faults showed to be untested."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from gpurank.method.noise import RunNoise, generator, run_draws, run_noise
from gpurank.method.pareto import best_intervals
from gpurank.method.ranking import (
    Noise,
    _interval,
    noise,
    rank,
    rank_counts,
    rankable,
    unrankable_reason,
)
from gpurank.method.settings import MethodSettings
from gpurank.method.ties import tie_groups


def test_the_uncertainty_of_the_leader_counts_for_a_tie() -> None:
    """ln 1.49 = 0.40 < 1.645 * sqrt(0.09 + 0) = 0.49, whichever of the two is uncertain."""
    scores = np.array([1.0, np.exp(0.4)])
    for variances in ([0.09, 0.0], [0.0, 0.09]):
        groups = tie_groups(scores, np.array(variances), 1.645)
        assert groups[0] == groups[1]
    apart = tie_groups(scores, np.array([0.0, 0.0]), 1.645)
    assert apart[0] != apart[1]


def test_a_score_of_nothing_is_not_ranked() -> None:
    frame = pl.DataFrame(
        {"result_id": ["a", "b"], "score_min": [0.0, 1.0], "accelerator_count": [8, 8]}
    )
    assert rankable(frame)["result_id"].to_list() == ["b"]


def test_the_fifth_of_seven_certain_ones_is_in_the_top_five(configurations: Any) -> None:
    times = [10.0 + i for i in range(7)]
    # Each an accelerator of its own: no cell tells how far sites differ.
    frame = configurations(
        score_min=times, run_minutes=[[t * 0.9999, t, t * 1.0001] for t in times],
        accelerator=[f"chip {i}" for i in range(7)],
    )  # fmt: skip
    own = MethodSettings(draws=100)
    found = rank(frame, noise(frame, own), own)
    assert [one.probability_top_5 for one in found] == [1.0] * 5 + [0.0] * 2
    assert [one.probability_first for one in found] == [1.0] + [0.0] * 6


def test_ranks_in_draws_by_hand() -> None:
    # Entry 0 is first, second, and third of equals with 1 (which, being later, stands behind it).
    scores = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [5.0, 5.0, 4.0]])
    assert rank_counts(scores).tolist() == [[1, 2, 0], [1, 1, 1], [1, 0, 2]]


@pytest.mark.parametrize("draws", [1, 7, 20, 100])
def test_intervals_are_the_quantiles_of_the_ranks(draws: int) -> None:
    scores = np.random.default_rng(draws).normal(size=(draws, 9))
    ranks = scores.argsort(axis=1).argsort(axis=1) + 1
    expected = np.quantile(ranks, (0.05, 0.95), axis=0, method="inverted_cdf")
    assert _interval(rank_counts(scores)).tolist() == expected.tolist()


@pytest.mark.parametrize("dropped", [0, 1, 2])
def test_a_redraw_is_an_olympic_mean(configurations: Any, dropped: int) -> None:
    frame = configurations(
        score_min=[10.0], run_minutes=[[9.0, 9.5, 10.0, 10.5, 11.0, 12.0]], dropped_count=[dropped]
    )
    own = MethodSettings(draws=50)
    runs = run_noise(frame, own)
    (name,) = frame["result_id"]
    drawn = generator(own, name, "run").standard_normal((50, 6))
    logs = []
    for draw in drawn:
        kept = sorted(draw)[dropped : 6 - dropped]
        logs.append(np.log(np.mean([np.exp(runs.sd[0] * value) for value in kept])))
    expected = np.array(logs) - np.mean(logs)
    assert run_draws([name], runs, own)[:, 0] == pytest.approx(expected, abs=1e-12)


def told(ids: list[str], run: list[list[float]], site: list[list[float]]) -> Noise:
    """Errors of ln T given by hand, one list a draw."""
    none = np.zeros(len(ids))
    runs = RunNoise(none, none, (3,) * len(ids), (1,) * len(ids))
    place = {name: i for i, name in enumerate(ids)}
    return Noise(place, runs, 0.1, np.array(run), np.array(site))


def test_errors_of_runs_and_sites_are_added(configurations: Any) -> None:
    """Of equal size and 10 % apart, so that ln T differs by 0.095, whatever lambda is."""
    frame = configurations(score_min=[10.0, 11.0])
    ids = frame["result_id"].to_list()
    own = MethodSettings(draws=4)
    # Runs: always 0.2 slower. Sites: 0.4 faster in half of the draws.
    slow, fast = [[0.2, 0.0]] * 4, [[-0.4, 0.0], [-0.4, 0.0], [0.0, 0.0], [0.0, 0.0]]
    first, second = rank(frame, told(ids, slow, fast), own)
    assert (first.rank_low_run, first.rank_high_run) == (2, 2)
    assert (first.rank_low_site, first.rank_high_site) == (1, 2)
    assert (first.rank_low, first.rank_high) == (1, 2)
    assert (first.probability_first, second.probability_first) == (0.5, 0.5)
    # Sites: always 0.4 faster.
    first, second = rank(frame, told(ids, slow, [[-0.4, 0.0]] * 4), own)
    assert (first.rank_low_run, first.rank_high_run) == (2, 2)
    assert (first.rank_low_site, first.rank_high_site) == (1, 1)
    assert (second.rank_low, second.rank_high, second.probability_first) == (2, 2, 0.0)


@pytest.mark.parametrize(
    ("times", "counts"),
    # 10 x (16 + lambda) < 14 x (12 + lambda), and 10 x (8 + lambda) < 9.9 x (16 + lambda), for
    # every lambda of the range.
    [([10.0, 14.0], [16, 12]), ([10.0, 9.9], [8, 16])],
)
def test_draws_weigh_time_by_size_and_lambda(
    configurations: Any, times: list[float], counts: list[int]
) -> None:
    frame = configurations(score_min=times, accelerator_count=counts)
    none = [[0.0, 0.0]] * 50
    first, second = rank(
        frame, told(frame["result_id"].to_list(), none, none), MethodSettings(draws=50)
    )
    assert (first.score_min, first.accelerator_minutes) == (times[0], times[0] * counts[0])
    assert (first.rank_low_run, first.rank_high_run) == (1, 1)
    assert (first.rank_low, first.rank_high, first.probability_first) == (1, 1, 1.0)
    assert (second.rank_low_run, second.rank_low) == (2, 2)


def test_what_runs_can_just_part_is_parted() -> None:
    """ln e = 1 = 1 x sqrt(0.5 + 0.5): no longer less than what noise explains."""
    assert tie_groups(np.array([1.0, np.e]), np.array([0.5, 0.5]), 1.0).tolist() == [1, 2]


def test_one_accelerator_and_half_a_minute_are_enough(configurations: Any) -> None:
    frame = configurations(score_min=[0.5, 0.0], accelerator_count=[1, 1])
    assert rankable(frame)["score_min"].to_list() == [0.5]
    assert unrankable_reason(frame)["reason"].to_list() == ["no score"]


def test_of_three_in_line_the_middle_one_is_never_the_single_best() -> None:
    """AM + lambda T: 1 + 3 x, 2 + 2 x and 3 + x are equal at 1 and ordered anywhere else."""
    found = best_intervals(np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    assert found == {0: (0.0, 1.0), 2: (1.0, np.inf)}


def test_what_lies_above_the_line_between_two_others_is_never_best() -> None:
    """9 + 9 x is above 1 + 10 x up to 8, and above 10 + x from 1/8 on."""
    found = best_intervals(np.array([10.0, 9.0, 1.0]), np.array([1.0, 9.0, 10.0]))
    assert found == {0: (0.0, 1.0), 2: (1.0, np.inf)}
