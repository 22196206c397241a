"""The random forest beside selection."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from gpurank.method.importance import forest, permutation_importance
from gpurank.method.settings import MethodSettings

SETTINGS = MethodSettings(importance_trees=8, seed=11)


def test_the_forest_is_the_librarys() -> None:
    rng = np.random.default_rng(0)
    values, asked = rng.normal(size=(70, 4)), rng.normal(size=(40, 4))
    target = values[:, 0] - 2 * values[:, 2] + rng.normal(size=70)
    model = RandomForestRegressor(8, min_samples_leaf=3, random_state=11)
    expected = model.fit(values, target).predict(asked)
    assert forest(values, target, asked, SETTINGS) == pytest.approx(expected, abs=1e-12)


def test_what_the_target_is_made_of_matters_and_noise_does_not() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(120, 3))
    target = 3 * values[:, 1]
    groups, folds = np.array([1, 2, 3]), np.arange(120) % 3
    found = permutation_importance(values, target, groups, folds, "x", SETTINGS)
    # Shuffling all that is known of the target costs about twice its variance.
    assert found[2] > 1.2
    assert abs(found[1]) < 0.1 and abs(found[3]) < 0.1
