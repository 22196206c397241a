"""Two checks that accompany selection: grouped permutation importance, and a matched test of hosts.

Neither selects variables. docs/method.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestRegressor

from gpurank.method.arrays import Floats, Ints
from gpurank.method.configurations import analysis_set, floats
from gpurank.method.noise import generator
from gpurank.method.selection import Selection, candidates
from gpurank.method.settings import MethodSettings

_MINIMUM_LEAF = 3
# Host variables; the matched test asks whether they have an effect of their own.
CPU_VARIABLES = ("core_count", "cores_per_socket", "cpu_launch_year", "memory_per_node_gib")


@dataclass(frozen=True, slots=True)
class MatchedEffect:
    """One host variable's effect on time among entries of the same round, accelerator and N.

    ``effect_per_sd`` is the change of ln T for one within-cell SD of the variable (0.01 is 1 %
    slower); ``p_value`` comes from permutations within cells. Cells are (round, accelerator, N)
    with enough entries in which the variable varies; both are None without any.
    """

    variable: str
    effect_per_sd: float | None
    p_value: float | None
    cell_count: int
    row_count: int


def group_importance(
    frame: pl.DataFrame, selection: Selection, by: str, settings: MethodSettings
) -> dict[int, float] | None:
    """Returns the importance of each redundancy group, on held-out submitters or families.

    Args:
        frame: columns of metrics.configuration.
        selection: the selection made from it.
        by: the column whose values share a fold: submitter or accelerator_family.
        settings: folds, trees, repeats and seed.

    Returns:
        Loss of out-of-fold R^2 by group; None where nothing was selected from or ``by`` has a
        single value.
    """
    rows = analysis_set(frame, selection.benchmark)
    group = {v.variable: v.group_id for v in selection.variables if v.group_id is not None}
    values_of_by = rows[by].fill_null("").to_list()
    if not group or len(set(values_of_by)) < 2:
        return None
    table = candidates(rows)
    return permutation_importance(
        np.stack([table[name] for name in group], axis=1),
        np.log(floats(rows, selection.target)),
        np.array(list(group.values()), dtype=np.int64),
        group_folds(values_of_by, settings.importance_folds),
        f"{selection.benchmark} {selection.target} {by}",
        settings,
    )


def permutation_importance(
    values: Floats, target: Floats, groups: Ints, folds: Ints, name: str, settings: MethodSettings
) -> dict[int, float]:
    """Returns the loss of out-of-fold R^2 by group when its columns are shuffled together.

    scikit-learn's permutation importance shuffles one column at a time, so that a duplicate column
    would halve the importance of both.

    Args:
        values: (n, p) candidates, nan where unknown.
        target: (n,) log time or log accelerator-minutes.
        groups: (p,) redundancy groups.
        folds: (n,) fold of each row; rows of one submitter or family share a fold.
        name: names the random stream.
        settings: trees, repeats and seed.
    """
    filled = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
    numbers = sorted(set(groups.tolist()))
    repeats = settings.importance_repeats
    rng = generator(settings, name, "importance")
    added_error = dict.fromkeys(numbers, 0.0)
    for fold in np.unique(folds).tolist():
        test = folds == fold
        if test.all():
            continue
        inputs = [filled[test]]
        for number in numbers:
            columns = np.flatnonzero(groups == number)
            for _ in range(repeats):
                shuffled = filled[test].copy()
                shuffled[:, columns] = shuffled[rng.permutation(len(shuffled))][:, columns]
                inputs.append(shuffled)
        forest = RandomForestRegressor(
            settings.importance_trees, min_samples_leaf=_MINIMUM_LEAF, random_state=settings.seed
        )
        forest.fit(filled[~test], target[~test])
        predicted = forest.predict(np.concatenate(inputs)).reshape(len(inputs), -1)
        squared = ((predicted - target[test]) ** 2).sum(axis=1)
        for i, number in enumerate(numbers):
            first = 1 + i * repeats
            added_error[number] += float(squared[first : first + repeats].mean() - squared[0])
    total = float(((target - target.mean()) ** 2).sum())
    return {number: error / total if total > 0 else 0.0 for number, error in added_error.items()}


def group_folds(names: list[str], count: int) -> Ints:
    """Returns folds 0..count-1 (n,) in which rows of one name share a fold, largest names first."""
    labels, sizes = np.unique(np.array(names), return_counts=True)
    load = np.zeros(count, dtype=np.int64)
    fold = {}
    for i in sorted(range(len(labels)), key=lambda i: (-sizes[i], labels[i])):
        fold[labels[i]] = int(load.argmin())
        load[fold[labels[i]]] += sizes[i]
    return np.array([fold[name] for name in names], dtype=np.int64)


def matched_cpu(
    frame: pl.DataFrame, benchmark: str, settings: MethodSettings
) -> list[MatchedEffect]:
    """Returns each host variable's effect within cells of one round, accelerator and count.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        settings: minimum entries per cell, permutations and seed.
    """
    cell = ["round_id", "accelerator", "accelerator_count"]
    rows = analysis_set(frame, benchmark).filter(pl.col("accelerator").is_not_null())
    return [_matched(rows, name, cell, benchmark, settings) for name in CPU_VARIABLES]


def _matched(
    rows: pl.DataFrame, name: str, cell: list[str], benchmark: str, settings: MethodSettings
) -> MatchedEffect:
    used = rows.filter(pl.col(name).is_not_null()).filter(
        (pl.len().over(cell) >= settings.matched_minimum) & (pl.col(name).n_unique().over(cell) > 1)
    )
    if not len(used):
        return MatchedEffect(name, None, None, 0, 0)
    number = used.select(pl.struct(cell).rank("dense")).to_series().to_numpy() - 1
    x = _centred(floats(used, name), number)
    y = _centred(np.log(floats(used, "score_min")), number)
    sum_of_squares = float((x**2).sum())
    effect = float((x * y).sum()) / sum_of_squares * float(np.sqrt(sum_of_squares / len(x)))
    rng = generator(settings, benchmark, name, "matched")
    order = np.argsort(number, kind="stable")
    x, y, number = x[order], y[order], number[order]
    random = rng.random((settings.matched_permutations, len(y)))
    permuted = np.empty_like(random)
    ends = np.cumsum(np.bincount(number))
    for in_cell in map(slice, ends - np.bincount(number), ends):
        permuted[:, in_cell] = y[in_cell][np.argsort(random[:, in_cell], axis=1)]
    null = np.abs(permuted @ x)
    extreme = int((null >= abs(float((x * y).sum())) * (1 - 1e-9)).sum())
    p_value = (1 + extreme) / (1 + settings.matched_permutations)
    return MatchedEffect(name, effect, p_value, int(number.max()) + 1, len(x))


def _centred(values: Floats, cell: Ints) -> Floats:
    """Returns values minus the mean of their cell."""
    means = np.bincount(cell, values) / np.bincount(cell)
    centred: Floats = values - means[cell]
    return centred
