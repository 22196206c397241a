"""Stage 3: worked examples, the reversal test, and a brute-force oracle for the hull."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.method.noise import run_noise, site_noise, trimmed_mean_factor
from gpurank.method.pareto import best_intervals
from gpurank.method.ranking import (
    Ranked,
    delay_cost,
    min_ranks,
    noise,
    rank,
    rankable,
    unrankable_reason,
)
from gpurank.method.settings import MethodError, MethodSettings
from gpurank.method.ties import tie_groups

SETTINGS = MethodSettings(draws=400)


def ranked(frame: pl.DataFrame, own: MethodSettings = SETTINGS) -> list[Ranked]:
    return rank(frame, noise(frame, own), own)


def test_score_is_the_worked_example() -> None:
    # 2.664 min on 64 chips, a minute worth 8 chips: 2.664 * 72 = 191.8 chip-minutes.
    assert delay_cost(np.array([2.664]), np.array([64.0]), 8.0)[0] == pytest.approx(191.808)


def test_order_and_hull_of_three_entries(configurations: Any) -> None:
    # AM 144, 160, 1600; costs at lambda 8: 12*20=... see each row.
    frame = configurations(score_min=[18.0, 2.5, 0.5], accelerator_count=[8, 64, 3200])
    rows = ranked(frame)
    # 2.5*72 = 180; 18*16 = 288; 0.5*3208 = 1604.
    assert [(r.accelerator_count, r.rank, r.delay_cost) for r in rows] == [
        (64, 1, 180.0),
        (8, 2, 288.0),
        (3200, 3, 1604.0),
    ]
    by_count = {r.accelerator_count: r for r in rows}
    # Equal cost of 8 and 64 chips: 144 + 18 l = 160 + 2.5 l at l = 16 / 15.5.
    assert by_count[8].best_for_lambda_low == 0.0
    assert by_count[8].best_for_lambda_high == pytest.approx(16 / 15.5)
    # 160 + 2.5 l = 1600 + 0.5 l at l = 720.
    assert by_count[64].best_for_lambda_high == pytest.approx(720)
    assert by_count[3200].best_for_lambda_low == pytest.approx(720)
    assert by_count[3200].best_for_lambda_high is None


def test_ties_go_to_the_smaller_and_then_to_the_path(configurations: Any) -> None:
    # 10 min on 8 chips and 5 min on 24 chips both cost 160 at lambda 8.
    frame = configurations(
        score_min=[5.0, 10.0, 10.0], accelerator_count=[24, 8, 8], result_id=["a", "c", "b"]
    )
    rows = ranked(frame)
    assert [(r.result_id, r.rank) for r in rows] == [("b", 1), ("c", 1), ("a", 3)]
    assert len({r.tie_group for r in rows}) == 1


def test_min_ranks_share_the_lowest() -> None:
    assert min_ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3, 1, 3, 2]
    keys = np.array([3.0, 3.0, 3.0]), np.array([2.0, 1.0, 2.0])
    assert min_ranks(*keys).tolist() == [2, 1, 2]
    assert min_ranks(np.array([])).tolist() == []


def test_tie_groups_by_hand() -> None:
    # sqrt(v + v) = 0.01, times 1.645: entries within exp(0.01645) of their leader tie.
    v = np.full(4, 0.00005)
    assert tie_groups(np.array([100.0, 101.6, 101.7, 103.3]), v, 1.645).tolist() == [1, 1, 2, 2]
    assert tie_groups(np.array([100.0, 100.0, 101.0]), np.zeros(3), 1.645).tolist() == [1, 1, 2]


entries = st.lists(
    st.tuples(st.floats(0.5, 500), st.sampled_from([1, 2, 4, 8, 16, 64, 512, 4096])),
    min_size=2,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(entries, st.data())
def test_no_entry_reorders_two_others(rows: list[tuple[float, int]], data: Any) -> None:
    """The reversal test: removing any entry (so adding one, too) keeps the order of the rest."""
    frame = pl.DataFrame(
        {
            "benchmark": ["x"] * len(rows),
            "result_id": [f"{i:03d}" for i in range(len(rows))],
            "score_min": [t for t, _ in rows],
            "accelerator_count": [n for _, n in rows],
            "run_minutes": [[t, t * 1.01, t * 1.02] for t, _ in rows],
            "dropped_count": [1] * len(rows),
            "round_id": ["v1.0"] * len(rows),
            "accelerator": ["X1"] * len(rows),
            "is_in_analysis_set": [True] * len(rows),
            "is_independent": [True] * len(rows),
        }
    )
    few = replace(SETTINGS, draws=2)
    gone = data.draw(st.integers(0, len(rows) - 1))
    whole = [r.result_id for r in ranked(frame, few)]
    rest = [r.result_id for r in ranked(frame.filter(pl.col("result_id") != f"{gone:03d}"), few)]
    assert rest == [name for name in whole if name != f"{gone:03d}"]


@settings(max_examples=50, deadline=None)
@given(entries)
def test_hull_against_trying_every_lambda(rows: list[tuple[float, int]]) -> None:
    time = np.array([t for t, _ in rows])
    minutes = time * np.array([n for _, n in rows])
    hull = best_intervals(time, minutes)
    bounds = sorted(hull.values())
    assert bounds[0][0] == 0.0
    assert bounds[-1][1] == np.inf
    assert all(a[1] == b[0] for a, b in pairwise(bounds))
    for i, (low, high) in hull.items():
        middle = (low + min(high, 2 * low + 1)) / 2
        assert minutes[i] + middle * time[i] <= (minutes + middle * time).min() * (1 + 1e-12)


def test_hull_prefers_the_first_of_equals_and_skips_dominated_ones() -> None:
    assert best_intervals(np.array([5.0, 5.0]), np.array([40.0, 40.0])) == {0: (0.0, np.inf)}
    assert set(best_intervals(np.array([5.0, 6.0]), np.array([40.0, 50.0]))) == {0}
    assert best_intervals(np.array([]), np.array([])) == {}


def test_what_cannot_rank_says_why(configurations: Any) -> None:
    frame = configurations(
        score_min=[5.0, 5.0, 5.0, 5.0, 5.0, None],
        accelerator_count=[8, 0, None, 8, 8, 8],
        division=["closed", "closed", "closed", "open", None, "closed"],
        is_same_round_copy=[True, False, False, False, False, False],
    )
    reasons = unrankable_reason(frame)["reason"].to_list()
    assert reasons == [
        "copy of a result of the same round",
        "no accelerators (host processors only)",
        "accelerator count unknown",
        "open division",
        "unknown division",
        "no score",
    ]
    assert len(rankable(frame)) == 3
    assert ranked(frame.filter(pl.col("score_min") < 0)) == []


def test_one_list_is_of_one_benchmark(configurations: Any) -> None:
    frame = configurations(score_min=[1.0, 2.0], benchmark=["bert", "resnet"])
    with pytest.raises(MethodError, match="one benchmark"):
        ranked(frame)


@pytest.mark.parametrize(
    ("count", "dropped", "exact"),
    # Variances of trimmed means of normal samples: 1/n untrimmed; medians of 3 and 5 from tables
    # of normal order statistics (0.4487, 0.2868).
    [(5, 0, 0.2), (3, 1, 0.4487), (5, 2, 0.2868)],
)
def test_trimmed_mean_factor(count: int, dropped: int, exact: float) -> None:
    assert trimmed_mean_factor(count, dropped) == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize(("count", "dropped"), [(5, 1), (10, 1), (40, 4)])
def test_trimmed_mean_factor_against_simulation(count: int, dropped: int) -> None:
    draws = np.sort(np.random.default_rng(0).standard_normal((40000, count)), axis=1)
    found = draws[:, dropped : count - dropped].mean(axis=1).var()
    assert trimmed_mean_factor(count, dropped) == pytest.approx(found, rel=0.03)


def test_run_sd_is_shrunk_to_its_tiers_median(configurations: Any) -> None:
    def runs(sd: float) -> list[float]:
        # Three runs at -1, 0 and +1 have an SD (ddof 1) of exactly 1 unit.
        return [float(np.exp(1 + sd * z)) for z in (-1, 0, 1)]

    frame = configurations(
        score_min=[3.0] * 4,
        accelerator_count=[8, 16, 4, 17],
        run_minutes=[runs(0.01), runs(0.02), runs(0.06), runs(0.5)],
    )
    # Measurements filed again are no further evidence of how much runs vary.
    again = configurations(
        score_min=[3.0] * 3,
        accelerator_count=[8] * 3,
        run_minutes=[runs(0.06)] * 3,
        is_independent=False,
    )
    assert (
        run_noise(pl.concat([frame, again]), SETTINGS).sd[:4] == run_noise(frame, SETTINGS).sd
    ).all()
    found = run_noise(frame, SETTINGS)
    # Tier <= 16 has median 0.02; 8 prior and 2 own degrees of freedom.
    assert found.sd[0] == pytest.approx(np.sqrt((8 * 0.02**2 + 2 * 0.01**2) / 10))
    assert found.sd[2] == pytest.approx(np.sqrt((8 * 0.02**2 + 2 * 0.06**2) / 10))
    assert found.sd[3] == pytest.approx(0.5)
    assert found.variance[1] == pytest.approx(0.02**2 * trimmed_mean_factor(3, 1))


def test_site_noise_by_hand(configurations: Any) -> None:
    # ln T off the cell's median by -0.3, -0.1, 0, 0.1 around a median between the middle two.
    logs = [-0.3, -0.1, 0.1, 0.3]
    frame = configurations(score_min=[float(np.exp(v)) for v in logs] + [9.0],
                           accelerator_count=[8, 8, 8, 8, 16])  # fmt: skip
    # Median 0: deviations 0.3 0.1 0.1 0.3, their median 0.2.
    assert site_noise(frame, SETTINGS) == pytest.approx(1.4826 * 0.2)
    assert site_noise(frame.head(3), SETTINGS) is None


def test_certainty_follows_the_noise(configurations: Any) -> None:
    quiet = [[t * 0.999, t, t * 1.001] for t in (10.0, 11.0, 12.0)]
    frame = configurations(score_min=[10.0, 11.0, 12.0], run_minutes=quiet)
    rows = ranked(frame)
    assert [(r.rank_low_run, r.rank_high_run) for r in rows] == [(1, 1), (2, 2), (3, 3)]
    # Equal counts: lambda cannot reorder them, and no cell is large enough for site noise.
    assert [r.probability_first for r in rows] == [1.0, 0.0, 0.0]
    assert rows[0].rank_low_site is None
    loud = [[t * 0.5, t, t * 2.0] for t in (10.0, 11.0, 12.0)]
    wide = ranked(frame.with_columns(run_minutes=pl.Series(loud)))
    assert all(r.rank_low_run == 1 and r.rank_high_run == 3 for r in wide)
    assert sum(r.probability_first for r in wide) == pytest.approx(1.0)
    assert len({r.tie_group for r in wide}) == 1 and len({r.tie_group for r in rows}) == 3


def test_an_entrys_draws_do_not_depend_on_the_others(configurations: Any) -> None:
    frame = configurations(
        score_min=[10.0 + i / 10 for i in range(6)], run_minutes=[[9.0, 10.0, 11.0]] * 6
    )
    whole, part = noise(frame, SETTINGS), noise(frame.tail(3), SETTINGS)
    name = frame["result_id"][4]
    assert np.array_equal(whole.run[:, whole.position[name]], part.run[:, part.position[name]])


def test_row_order_changes_nothing(configurations: Any) -> None:
    frame = configurations(
        score_min=[10.0, 9.0, 12.0, 10.5], accelerator_count=[8, 16, 8, 4],
        run_minutes=[[9.0, 10.0, 11.0]] * 4,
    )  # fmt: skip
    assert ranked(frame) == ranked(frame.reverse())


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_lambda_must_be_a_positive_number(value: float) -> None:
    with pytest.raises(MethodError, match="lambda"):
        MethodSettings(lambda_chips=value)
