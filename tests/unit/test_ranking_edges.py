"""Edges of the ranking that planted faults showed to be untested."""

from __future__ import annotations

import numpy as np
import polars as pl

from gpurank.method.ranking import rankable, tie_groups


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
