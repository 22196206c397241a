"""The Pareto front against the definition, list by list."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.method.pareto import pareto_front

points = st.tuples(st.integers(1, 5), st.integers(1, 5))


@settings(max_examples=100, deadline=None)
@given(st.lists(points, min_size=1, max_size=8))
def test_the_front_is_what_nothing_dominates(rows: list[tuple[int, int]]) -> None:
    expected = [not any(a <= x and b <= y and (a, b) != (x, y) for a, b in rows) for x, y in rows]
    time, cost = np.array(rows, dtype=np.float64).T
    assert pareto_front(time, cost).tolist() == expected


def test_leading_axes_are_separate_lists() -> None:
    time = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 3.0]])
    cost = np.array([[3.0, 3.0, 1.0], [2.0, 2.0, 5.0]])
    assert pareto_front(time, cost).tolist() == [[True, False, True], [True, True, False]]
