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

from gpurank.method.noise import (
    RunNoise,
    run_draws,
    run_noise,
    site_noise,
    trimmed_mean_factor,
)
from gpurank.method.pareto import best_intervals
from gpurank.method.ranking import (
    Noise,
    Ranked,
    _interval,
    min_ranks,
    noise,
    rank,
    rank_counts,
    rankable,
    unrankable_reason,
)
from gpurank.method.settings import MethodError, MethodSettings
from gpurank.method.ties import tie_groups

SETTINGS = MethodSettings(draws=400)


def ranked(frame: pl.DataFrame, own: MethodSettings = SETTINGS) -> list[Ranked]:
    return rank(frame, noise(frame, own), own)


def test_order_and_hull_of_three_entries(configurations: Any) -> None:
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


@pytest.mark.parametrize(
    ("costs", "variances", "quantile", "groups"),
    [
        # sqrt(v + v) = 0.01, times 1.645: entries within exp(0.01645) of their leader tie.
        ([100, 101.6, 101.7, 103.3], [0.00005] * 4, 1.645, [1, 1, 2, 2]),
        ([100, 100, 101], [0, 0, 0], 1.645, [1, 1, 2]),
        # 0.4 < 1.645 x sqrt(0.09) = 0.49, whichever of the two is uncertain.
        ([1, np.exp(0.4)], [0.09, 0], 1.645, [1, 1]),
        ([1, np.exp(0.4)], [0, 0.09], 1.645, [1, 1]),
        # ln e = 1 = 1 x sqrt(0.5 + 0.5): no longer less than what noise explains.
        ([1, np.e], [0.5, 0.5], 1.0, [1, 2]),
    ],
)
def test_tie_groups_by_hand(
    costs: list[float], variances: list[float], quantile: float, groups: list[int]
) -> None:
    assert tie_groups(np.array(costs), np.array(variances), quantile).tolist() == groups


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


@pytest.mark.parametrize(
    ("time", "minutes", "intervals"),
    [
        ([], [], {}),
        # Of equal entries the first counts; a dominated one is best for no lambda.
        ([5, 5], [40, 40], {0: (0, np.inf)}),
        ([5, 6], [40, 50], {0: (0, np.inf)}),
        # AM + x T: 1 + 3 x, 2 + 2 x and 3 + x are equal at 1 and ordered anywhere else.
        ([3, 2, 1], [1, 2, 3], {0: (0, 1), 2: (1, np.inf)}),
        # 9 + 9 x is above 1 + 10 x up to 8, and above 10 + x from 1/8 on.
        ([10, 9, 1], [1, 9, 10], {0: (0, 1), 2: (1, np.inf)}),
        # Slopes 1 and 10, then 7: the third is skipped, and the fourth follows the second at 17/2.
        ([4, 3, 2, 1], [1, 2, 12, 19], {0: (0, 1), 1: (1, 8.5), 3: (8.5, np.inf)}),
    ],
)
def test_hull_by_hand(time: list[float], minutes: list[float], intervals: Any) -> None:
    assert best_intervals(np.array(time, float), np.array(minutes, float)) == intervals


def test_what_cannot_rank_says_why(configurations: Any) -> None:
    frame = configurations(
        # One accelerator and half a minute are enough.
        score_min=[5.0, 5.0, 5.0, 5.0, 5.0, None, 0.0, 0.5],
        accelerator_count=[8, 0, None, 8, 8, 8, 1, 1],
        division=["closed", "closed", "closed", "open", None, "closed", "closed", "closed"],
        is_same_round_copy=[True, *[False] * 7],
    )
    reasons = unrankable_reason(frame)["reason"].to_list()
    assert reasons == [
        "copy of a result of the same round",
        "no accelerators (host processors only)",
        "accelerator count unknown",
        "open division",
        "unknown division",
        "no score",
        "no score",
    ]
    assert rankable(frame)["score_min"].to_list() == [5.0, 5.0, 5.0, 0.5]
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


def test_the_fifth_of_seven_certain_ones_is_in_the_top_five(configurations: Any) -> None:
    times = [10.0 + i for i in range(7)]
    # Each an accelerator of its own: no cell tells how far sites differ.
    frame = configurations(
        score_min=times, run_minutes=[[t * 0.9999, t, t * 1.0001] for t in times],
        accelerator=[f"chip {i}" for i in range(7)],
    )  # fmt: skip
    own = MethodSettings(draws=100)
    rows = ranked(frame, own)
    assert [row.probability_top_5 for row in rows] == [1.0] * 5 + [0.0] * 2
    assert [row.probability_first for row in rows] == [1.0] + [0.0] * 6


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
def test_redrawn_scores_vary_as_trimmed_means_do(configurations: Any, dropped: int) -> None:
    runs = [9.5, 9.8, 10.0, 10.1, 10.2, 10.4]
    frame = configurations(score_min=[10.0], run_minutes=[runs], dropped_count=[dropped])
    own = MethodSettings(draws=20_000)
    spread = run_noise(frame, own)
    redrawn = run_draws(frame["result_id"].to_list(), spread, own)[:, 0]
    normal = np.sort(np.random.default_rng(1).normal(0, spread.sd[0], (20_000, 6)), axis=1)
    expected = np.log(np.exp(normal[:, dropped : 6 - dropped]).mean(axis=1)).std()
    assert redrawn.std() == pytest.approx(expected, rel=0.03)
    assert redrawn.mean() == pytest.approx(0, abs=1e-9)


def given_noise(ids: list[str], run: list[list[float]], site: list[list[float]]) -> Noise:
    """Errors of ln T given by hand, one list a draw."""
    none = np.zeros(len(ids))
    runs = RunNoise(none, none, (3,) * len(ids), (1,) * len(ids))
    position = {name: i for i, name in enumerate(ids)}
    return Noise(position, runs, 0.1, np.array(run), np.array(site))


def test_errors_of_runs_and_sites_are_added(configurations: Any) -> None:
    """Of equal size and 10 % apart, so that ln T differs by 0.095, whatever lambda is."""
    frame = configurations(score_min=[10.0, 11.0])
    ids = frame["result_id"].to_list()
    own = MethodSettings(draws=4)
    # Runs: always 0.2 slower. Sites: 0.4 faster in half of the draws.
    slow, fast = [[0.2, 0.0]] * 4, [[-0.4, 0.0], [-0.4, 0.0], [0.0, 0.0], [0.0, 0.0]]
    first, second = rank(frame, given_noise(ids, slow, fast), own)
    assert (first.rank_low_run, first.rank_high_run) == (2, 2)
    assert (first.rank_low_site, first.rank_high_site) == (1, 2)
    assert (first.rank_low, first.rank_high) == (1, 2)
    assert (first.probability_first, second.probability_first) == (0.5, 0.5)
    # Sites: always 0.4 faster.
    first, second = rank(frame, given_noise(ids, slow, [[-0.4, 0.0]] * 4), own)
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
        frame, given_noise(frame["result_id"].to_list(), none, none), MethodSettings(draws=50)
    )
    assert (first.score_min, first.accelerator_minutes) == (times[0], times[0] * counts[0])
    assert (first.rank_low_run, first.rank_high_run) == (1, 1)
    assert (first.rank_low, first.rank_high, first.probability_first) == (1, 1, 1.0)
    assert (second.rank_low_run, second.rank_low) == (2, 2)


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
