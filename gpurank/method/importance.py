"""Beside selection: grouped permutation importance, and the matched test of host processors.

Neither selects anything. docs/method.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from sklearn import config_context
from sklearn.tree import DecisionTreeRegressor

from gpurank.method.noise import generator
from gpurank.method.selection import Selection, candidates
from gpurank.method.settings import Floats, Ints, MethodSettings, analysis_set, floats, one_thread

_LEAF = 3
# What is known of the host; the matched test asks whether it has an effect of its own.
CPU_VARIABLES = ("core_count", "cores_per_socket", "cpu_launch_year", "memory_per_node_gib")


@dataclass(frozen=True, slots=True)
class MatchedEffect:
    """One host variable's effect on time among entries alike in all else.

    ``effect_per_sd`` is the change of ln T for one within-cell SD of the variable (0.01 is 1 %
    slower); ``p_value`` from permutations within cells. Cells are (round, accelerator, N) with
    enough entries in which the variable varies; both are None without any.
    """

    variable: str
    effect_per_sd: float | None
    p_value: float | None
    cell_count: int
    row_count: int


def group_importance(
    frame: pl.DataFrame, selection: Selection, by: str, settings: MethodSettings
) -> dict[int, float] | None:
    """Importance of each redundancy group of a selection, whole submitters or families held out.

    Args:
        frame: columns of metrics.configuration.
        selection: what stage 1 found on it.
        by: the column whose values stay together in a fold: submitter or accelerator_family.
        settings: folds, trees, repeats and seed.

    Returns:
        Loss of out-of-fold R^2 by group; None where nothing was selected from or ``by`` has a
        single value.
    """
    rows = analysis_set(frame, selection.benchmark)
    group = {v.variable: v.group_id for v in selection.variables if v.group_id is not None}
    owners = rows[by].fill_null("").to_list()
    if not group or len(set(owners)) < 2:
        return None
    table = candidates(rows)
    return permutation_importance(
        np.stack([table[name] for name in group], axis=1),
        np.log(floats(rows, selection.target)),
        np.array(list(group.values()), dtype=np.int64),
        folds_of(owners, settings.importance_folds),
        f"{selection.benchmark} {selection.target} {by}",
        settings,
    )


def permutation_importance(
    values: Floats, target: Floats, groups: Ints, folds: Ints, name: str, settings: MethodSettings
) -> dict[int, float]:
    """Loss of out-of-fold R^2, in share of variance, when a group's columns are shuffled together.

    Shuffling a whole group at once is what keeps a duplicate column from halving it.

    Args:
        values: (n, p) candidates, nan where unknown.
        target: (n,) log time or log accelerator-minutes.
        groups: (p,) redundancy groups.
        folds: (n,) fold of each row; rows of one submitter or family share a fold.
        name: what the random stream is called.
        settings: trees, repeats and seed.
    """
    filled = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
    numbers = sorted(set(groups.tolist()))
    rng = generator(settings, name, "importance")
    error = dict.fromkeys(numbers, 0.0)
    for fold in np.unique(folds).tolist():
        test = folds == fold
        if test.all():
            continue
        trials = [filled[test]]
        for number in numbers:
            for _ in range(settings.importance_repeats):
                mixed = filled[test].copy()
                columns = np.flatnonzero(groups == number)
                mixed[:, columns] = mixed[rng.permutation(len(mixed))][:, columns]
                trials.append(mixed)
        found = forest(filled[~test], target[~test], np.concatenate(trials), settings)
        found = found.reshape(len(trials), -1)
        squared = ((found - target[test]) ** 2).sum(axis=1)
        for i, number in enumerate(numbers):
            first = 1 + i * settings.importance_repeats
            worse = squared[first : first + settings.importance_repeats].mean()
            error[number] += float(worse - squared[0])
    total = float(((target - target.mean()) ** 2).sum())
    return {number: value / total if total > 0 else 0.0 for number, value in error.items()}


def forest(values: Floats, target: Floats, asked: Floats, settings: MethodSettings) -> Floats:
    """What a random forest fitted to (n, p) values and (n,) targets says at (a, p): (a,).

    The library's own forest takes twice the time of its trees, to copy and check parameters; these
    are its trees, from the same draws.
    """
    size, seen = len(values), asked.astype(np.float32)
    fitted, column = values.astype(np.float32), np.ascontiguousarray(target[:, None])
    seeds = np.random.RandomState(settings.seed).randint(
        np.iinfo(np.int32).max, size=settings.importance_trees
    )
    total = np.zeros(len(asked))
    # A new one gathers entropy first, which takes longer than a tree; these are seeded anew.
    draws, own = np.random.RandomState(0), np.random.RandomState(0)
    with one_thread(), config_context(skip_parameter_validation=True, assume_finite=True):
        for seed in seeds.tolist():
            draws.seed(seed)
            own.seed(seed)
            copies = np.bincount(draws.randint(0, size, size), minlength=size).astype(np.float64)
            tree = DecisionTreeRegressor(min_samples_leaf=_LEAF, random_state=own)
            tree.fit(fitted, column, sample_weight=copies, check_input=False)
            total += tree.tree_.predict(seen)[:, 0]
    mean: Floats = total / settings.importance_trees
    return mean


def folds_of(names: list[str], count: int) -> Ints:
    """Folds 0..count-1 that keep a name together, filled largest first: (n,)."""
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
    """Effect of each host variable within cells of one round, accelerator and count.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        settings: entries a cell needs, permutations and seed.
    """
    cell = ["round_id", "accelerator", "accelerator_count"]
    rows = analysis_set(frame, benchmark).filter(pl.col("accelerator").is_not_null())
    return [_matched(rows, name, cell, benchmark, settings) for name in CPU_VARIABLES]


def _matched(
    rows: pl.DataFrame, name: str, cell: list[str], benchmark: str, settings: MethodSettings
) -> MatchedEffect:
    kept = rows.filter(pl.col(name).is_not_null()).filter(
        (pl.len().over(cell) >= settings.matched_minimum) & (pl.col(name).n_unique().over(cell) > 1)
    )
    if not len(kept):
        return MatchedEffect(name, None, None, 0, 0)
    number = kept.select(pl.struct(cell).rank("dense")).to_series().to_numpy() - 1
    x = _centred(floats(kept, name), number)
    y = _centred(np.log(floats(kept, "score_min")), number)
    spread = float((x**2).sum())
    effect = float((x * y).sum()) / spread * float(np.sqrt(spread / len(x)))
    rng = generator(settings, benchmark, name, "matched")
    order = np.argsort(number, kind="stable")
    x, y, number = x[order], y[order], number[order]
    chance = rng.random((settings.matched_permutations, len(y)))
    shuffled = np.empty_like(chance)
    ends = np.cumsum(np.bincount(number))
    for own in map(slice, ends - np.bincount(number), ends):
        shuffled[:, own] = y[own][np.argsort(chance[:, own], axis=1)]
    null = np.abs(shuffled @ x)
    extreme = int((null >= abs(float((x * y).sum())) * (1 - 1e-9)).sum())
    p_value = (1 + extreme) / (1 + settings.matched_permutations)
    return MatchedEffect(name, effect, p_value, int(number.max()) + 1, len(x))


def _centred(values: Floats, cell: Ints) -> Floats:
    means = np.bincount(cell, values) / np.bincount(cell)
    centred: Floats = values - means[cell]
    return centred
