"""Edges of the ranking that planted faults showed to be untested."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from gpurank.method.noise import generator, run_draws, run_noise
from gpurank.method.ranking import _interval, noise, rank, rank_counts, rankable, tie_groups
from gpurank.method.settings import MethodSettings


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
