"""Comparison methods against worked examples, and reversals against trying every pair."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.method.mcdm import (
    compare,
    critic_weights,
    entropy_weights,
    pareto,
    promethee,
    topsis,
    vikor,
    weighted_sum,
)

HALF = np.array([0.5, 0.5])


def test_topsis_is_the_fighter_aircraft_example() -> None:
    # Hwang and Yoon 1981: speed, range, payload, reliability and manoeuvrability are gains (cost
    # with the sign turned), price is a cost; closeness 0.643, 0.268, 0.613, 0.312.
    gains = np.array(
        [
            [2.0, 1500, 20000, -5.5, 5, 9],
            [2.5, 2700, 18000, -6.5, 3, 5],
            [1.8, 2000, 21000, -4.5, 7, 7],
            [2.2, 1800, 20000, -5.0, 5, 5],
        ]
    )
    closeness = 1 - topsis(-gains, np.array([0.2, 0.1, 0.1, 0.1, 0.2, 0.3]))
    assert closeness == pytest.approx([0.643, 0.268, 0.613, 0.312], abs=6e-4)


def test_vikor_is_the_mountain_climber_example() -> None:
    # Opricovic and Tzeng 2004: risk 1, 2, 5 is a cost, altitude 3000, 3750, 4500 a gain, equal
    # weights. S = 0.5, 0.375, 0.5 and R = 0.5, 0.25, 0.5, so Q = 1, 0, 1.
    costs = np.array([[1.0, -3000], [2, -3750], [5, -4500]])
    assert vikor(costs, HALF) == pytest.approx([1, 0, 1])


def test_promethee_by_hand() -> None:
    # By the first criterion the entries stand 1, 2, 3, by the second 2, 1, 3. With equal weights
    # the net flows are (2 + 0) / 2 / 2, (0 + 2) / 2 / 2 and (-2 - 2) / 2 / 2.
    flows = -promethee(np.array([[1.0, 20], [2, 10], [3, 30]]), HALF)
    assert flows == pytest.approx([0.5, 0.5, -1])
    # Equals neither win nor lose against each other: 1/2 against the one below.
    ties = -promethee(np.array([[1.0, 1], [1, 1], [2, 2]]), HALF)
    assert ties == pytest.approx([0.5, 0.5, -1])


def test_entropy_weights_by_hand() -> None:
    # A criterion equal in all entries has the entropy 1 and tells nothing.
    assert entropy_weights(np.array([[1.0, 1], [1, 3]])) == pytest.approx([0, 1])
    # Shares 1/4, 3/4: 1 - (2 - 3/4 log2 3) = 0.1887; shares 1/10, 9/10: 1 - 0.4690 = 0.5310.
    found = entropy_weights(np.array([[1.0, 1], [3, 9]]))
    assert found[0] == pytest.approx(0.1887 / (0.1887 + 0.5310), abs=1e-4)


def test_critic_weights_by_hand() -> None:
    # Scaled 0, 1/2, 1 thrice, the second against the others: r = -1, 1, -1, so that the sums of
    # 1 - r are 2, 4, 2, at equal spread.
    costs = np.array([[1.0, 30, 5], [2, 20, 6], [3, 10, 7]])
    assert critic_weights(costs) == pytest.approx([0.25, 0.5, 0.25])
    assert critic_weights(np.ones((3, 2))) == pytest.approx([0.5, 0.5])


def test_weighted_sum_by_hand() -> None:
    # Scaled (0, 1), (1/4, 1/2), (1, 0) with weights 0.4 and 0.6.
    value = weighted_sum(np.array([[1.0, 30], [2, 20], [5, 10]]), np.array([0.4, 0.6]))
    assert value == pytest.approx([0.6, 0.4, 0.4])


entries = st.lists(
    st.tuples(st.sampled_from([0.5, 1, 2, 7.5, 18, 60]), st.sampled_from([1, 8, 64, 512])),
    min_size=3,
    max_size=7,
)
RUN: dict[str, Any] = {
    "topsis": lambda c: topsis(c, HALF),
    "vikor": lambda c: vikor(c, HALF),
    "promethee_2": lambda c: promethee(c, HALF),
    "sum_entropy": lambda c: weighted_sum(c, entropy_weights(c)),
    "sum_critic": lambda c: weighted_sum(c, critic_weights(c)),
    "pareto": pareto,
}


@settings(max_examples=40, deadline=None)
@given(entries)
def test_reversals_against_trying_every_pair(rows: list[tuple[float, int]]) -> None:
    time = np.array([t for t, _ in rows])
    minutes = time * np.array([n for _, n in rows])
    costs = np.stack([time, minutes], axis=1)
    found = {r.method: r for r in compare(time, minutes, minutes + 8 * time)}
    assert found["delay_cost"].reversal_rate == 0
    assert not found["delay_cost"].first_reversal_rate
    for name, method in RUN.items():
        whole = method(costs)
        reversed_ = 0
        for gone in range(len(rows)):
            rest = [i for i in range(len(rows)) if i != gone]
            after = dict(zip(rest, method(costs[rest]), strict=True))
            reversed_ += any(
                (whole[i] - whole[j]) * (after[i] - after[j]) < 0
                and min(abs(whole[i] - whole[j]), abs(after[i] - after[j])) > 1e-9
                for i, j in combinations(rest, 2)
            )
        assert found[name].reversal_rate == pytest.approx(reversed_ / len(rows))


def test_firsts_and_their_reversals() -> None:
    # T 1, 2, 10 and AM 100, 60, 10, delay costs 108, 76, 90; every entry is on the front.
    time, minutes = np.array([1.0, 2, 10]), np.array([100.0, 60, 10])
    found = {r.method: r for r in compare(time, minutes, minutes + 8 * time)}
    assert (found["pareto"].first, found["pareto"].first_count) == (1, 3)
    assert found["pareto"].rank_correlation is None
    assert found["pareto"].first_reversal_rate is None
    assert found["delay_cost"].first == 1
    # VIKOR scales to 0, 1/9, 1 and 1, 5/9, 0: S = 1/2, 1/3, 1/2, R = 1/2, 5/18, 1/2. Of two that
    # remain neither is better, so that the middle one stays among the firsts.
    assert found["vikor"].first == 1 and found["vikor"].first_count == 1
    assert found["vikor"].first_reversal_rate == 0
    assert found["sum_entropy"].time_weight is not None
