"""The random forest beside selection."""

from __future__ import annotations

import numpy as np
import pytest

from gpurank.method.importance import group_folds, permutation_importance
from gpurank.method.settings import MethodSettings

SETTINGS = MethodSettings(importance_trees=8, seed=11)


def test_what_the_target_is_made_of_matters_and_noise_does_not() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(120, 3))
    target = 3 * values[:, 1]
    groups, folds = np.array([1, 2, 3]), np.arange(120) % 3
    found = permutation_importance(values, target, groups, folds, "x", SETTINGS)
    # Shuffling all that is known of the target costs about twice its variance.
    assert found[2] > 1.2
    assert abs(found[1]) < 0.1 and abs(found[3]) < 0.1


def test_a_duplicate_column_does_not_halve_the_importance_of_its_group() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(120, 2))
    target = 3 * values[:, 1]
    folds = np.arange(120) % 3
    alone = permutation_importance(values, target, np.array([1, 2]), folds, "x", SETTINGS)
    twice = values[:, [0, 1, 1]]
    grouped = permutation_importance(twice, target, np.array([1, 2, 2]), folds, "x", SETTINGS)
    assert grouped[2] == pytest.approx(alone[2], rel=0.25)


def test_rows_of_one_name_share_a_fold_and_folds_are_about_equal() -> None:
    # 4, 3, 2 and 1 rows: 4 | 3 | 2 + 1.
    names = ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + ["d"]
    assert group_folds(names, 3).tolist() == [0] * 4 + [1] * 3 + [2] * 3
