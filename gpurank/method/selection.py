"""Stage 1: selects the variables that are associated with time and with accelerator-minutes.

Greedy forward selection by partial rank correlation, one variable per redundancy group, with the
round's date as a control; stability over resampled submitters. docs/method.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from gpurank.method.arrays import Bools, Floats, Ints
from gpurank.method.configurations import analysis_set, floats
from gpurank.method.ranks import project_out, rank_covariances, spearman
from gpurank.method.settings import MethodError, MethodSettings

Target = Literal["score_min", "accelerator_minutes"]
TARGETS: tuple[Target, ...] = ("score_min", "accelerator_minutes")

# Columns that a target is computed from, or that are computed from it: they explain it by algebra.
RELATIVES = frozenset(
    {"score_min", "unscaled_min", "accelerator_minutes", "run_minutes", "speedup"}
    | {"throughput_per_s", "throughput_per_accelerator_per_s", "scaling_efficiency"}
)
# Ranks do not change under a logarithm, so log2 N and N are the same candidate.
COLUMNS = (
    "accelerator_count",
    "accelerator_launch_year",
    "accelerators_per_node",
    "core_count",
    "cores_per_socket",
    "cpu_launch_year",
    "is_socketed",
    "link_rank",
    "memory_per_node_gib",
    "network_gbps_per_node",
    "node_count",
    "socket_count",
)
# Positions in a covariance matrix: the target is 0, then the date, then the candidates.
_DATE, _FIRST = 1, 2


@dataclass(frozen=True, slots=True)
class Variable:
    """The result for one candidate.

    ``partial_correlation`` controls for the date and the variables selected before this one; for a
    variable that was not selected, for those selected before its group was, or all selected ones.
    ``date_correlation`` controls for the date alone. ``stability`` is the share of resamples in
    which any member of the group was chosen; without resamples it is None, and so is
    ``is_selected`` of a chosen variable.
    """

    variable: str
    group_id: int | None = None
    is_selected: bool | None = False
    selection_order: int | None = None
    partial_correlation: float | None = None
    date_correlation: float | None = None
    stability: float | None = None
    dropped_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The variables of one benchmark and target; ``reason`` is why none could be selected."""

    benchmark: str
    target: Target
    row_count: int
    submitter_count: int
    variables: tuple[Variable, ...]
    reason: str | None = None


def candidates(frame: pl.DataFrame, columns: tuple[str, ...] = COLUMNS) -> dict[str, Floats]:
    """Returns the candidate variables by name: (n,) each, nan where unknown.

    CPU vendors have no order, so each becomes an indicator variable.

    Raises:
        MethodError: a column is computed from a target, or a target from it.
    """
    relatives = RELATIVES & set(columns)
    if relatives:
        raise MethodError(f"{', '.join(sorted(relatives))} cannot predict a time it is made of")
    table = {name: floats(frame, name) for name in columns}
    count = floats(frame, "accelerator_count")
    count = np.where(count > 0, count, np.nan)
    table["cores_per_accelerator"] = floats(frame, "core_count") / count
    memory = floats(frame, "memory_per_node_gib") * floats(frame, "node_count")
    table["memory_per_accelerator_gib"] = memory / count
    vendor = frame["cpu_vendor"]
    for name in sorted(filter(None, vendor.unique().to_list())):
        key = "is_cpu_" + "".join(c if c.isalnum() else "_" for c in name.lower())
        table[key] = (vendor == name).cast(pl.Float64).to_numpy().astype(np.float64)
    return {name: table[name] for name in sorted(table)}


def screen(table: dict[str, Floats], settings: MethodSettings) -> dict[str, str]:
    """Returns why candidates are dropped before selection, by name: missing, or constant."""
    reasons: dict[str, str] = {}
    for name, values in table.items():
        missing = float(np.isnan(values).mean())
        known = values[~np.isnan(values)]
        if missing > settings.missing_share:
            reasons[name] = f"unknown in {missing:.0%} of rows"
        elif len(known):
            _, counts = np.unique(known, return_counts=True)
            share = float(counts.max() / len(values))
            if share >= settings.constant_share or len(counts) == 1:
                reasons[name] = f"one value in {share:.0%} of rows"
    return reasons


def redundancy_groups(values: Floats, distance: float) -> Ints:
    """Returns group numbers (p,), 1.. by first member: complete linkage on 1 - |Spearman|."""
    count = values.shape[1]
    if count < 2:
        return np.ones(count, dtype=np.int64)
    distances = np.round(1 - np.abs(spearman(values)), 12)
    np.fill_diagonal(distances, 0)
    labels = fcluster(linkage(squareform(distances), "complete"), distance, "distance").tolist()
    number = {label: i for i, label in enumerate(dict.fromkeys(labels), start=1)}
    return np.array([number[label] for label in labels], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Path:
    """Selection in b resamples: chosen (b, steps), -1 after the stop; partials (steps, b, p)."""

    chosen: Ints
    partials: Floats


def greedy(covariances: Floats, groups: Ints, settings: MethodSettings) -> _Path:
    """Runs forward selection in every resample at once.

    Args:
        covariances: (b, 2 + p, 2 + p) of target, date and candidates sorted by name.
        groups: (p,) redundancy group of each candidate.
        settings: threshold and the share of variance a candidate must keep.
    """
    size = len(covariances)
    variance = np.diagonal(covariances, axis1=1, axis2=2)
    floor = settings.residual_share * variance
    floor[:, _DATE] = 1e-9 * (1 + variance[:, _DATE])
    active: Bools = np.ones(size, dtype=np.bool_)
    free: Bools = np.ones((size, len(groups)), dtype=np.bool_)
    left = project_out(covariances, np.full(size, _DATE), floor, active)
    chosen, partials = [], []
    for _ in range(len(set(groups.tolist())) + 1):
        rest = np.diagonal(left, axis1=1, axis2=2)
        usable = (rest[:, _FIRST:] > floor[:, _FIRST:]) & (rest[:, [0]] > 1e-9 * variance[:, [0]])
        scale = np.sqrt(np.where(usable, rest[:, _FIRST:] * rest[:, [0]], 1.0))
        partial = np.where(usable, left[:, 0, _FIRST:] / scale, 0.0)
        partials.append(partial)
        # Rounded, so that between equal candidates the name decides, not the last bit.
        strength = np.where(free, np.round(np.abs(partial), 9), -1.0)
        best = strength.argmax(axis=1)
        active = active & (strength.max(axis=1) >= settings.selection_threshold)
        chosen.append(np.where(active, best, -1))
        if not active.any():
            break
        free = free & ~(active[:, None] & (groups[None, :] == groups[best][:, None]))
        left = project_out(left, best + _FIRST, floor, active)
    return _Path(np.stack(chosen, axis=1), np.stack(partials))


def submitter_weights(submitters: list[str], count: int, seed: int) -> Floats:
    """Returns whole row weights of bootstraps over submitters: (count, n)."""
    names, index = np.unique(np.array(submitters), return_inverse=True)
    draws = np.random.default_rng(seed).multinomial(
        len(names), np.full(len(names), 1 / len(names)), size=count
    )
    return draws[:, index].astype(np.float64)


def select(
    frame: pl.DataFrame,
    benchmark: str,
    target: Target,
    settings: MethodSettings,
    columns: tuple[str, ...] = COLUMNS,
) -> Selection:
    """Selects the variables associated with a target on a benchmark's analysis set.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        target: score_min (T) or accelerator_minutes (AM); their logarithms have the same ranks.
        settings: thresholds, bootstraps and seed.
        columns: numeric candidate columns; ratios and CPU vendors are added to them.

    Raises:
        MethodError: a candidate is computed from the target.
    """
    rows = analysis_set(frame, benchmark)
    table = candidates(rows, columns)
    submitters = rows["submitter"].fill_null("").to_list()
    sample = (benchmark, target, len(rows), len(set(submitters)))
    reason = too_small(len(rows), len(set(submitters)), settings)
    dropped = dict.fromkeys(table, reason) if reason else screen(table, settings)
    names = [name for name in table if name not in dropped]
    variables = [Variable(name, dropped_reason=text) for name, text in dropped.items()]
    if not names:
        return Selection(*sample, tuple(variables), reason or "no candidate varies")
    values = np.stack([table[name] for name in names], axis=1)
    groups = redundancy_groups(values, settings.redundancy_distance)
    # Rounds have the ranks of their dates, and an index even where a date is unknown.
    ranked = np.column_stack([floats(rows, target), floats(rows, "round_index"), values])
    path = greedy(rank_covariances(ranked, np.ones((1, len(rows)))), groups, settings)
    stability = _stability(ranked, submitters, groups, settings)
    variables += _variables(names, groups, path, stability, settings)
    return Selection(*sample, tuple(sorted(variables, key=lambda v: v.variable)))


def too_small(row_count: int, submitter_count: int, settings: MethodSettings) -> str | None:
    """Returns why a sample is too small for inference over submitters; None if it is not."""
    if row_count < settings.selection_minimum_rows:
        return f"{row_count} rows, {settings.selection_minimum_rows} needed"
    if submitter_count < settings.selection_minimum_submitters:
        return f"{submitter_count} submitters, {settings.selection_minimum_submitters} needed"
    return None


def _stability(
    ranked: Floats, submitters: list[str], groups: Ints, settings: MethodSettings
) -> dict[int, float] | None:
    """Returns the share of resamples over submitters that choose each group."""
    if not settings.selection_bootstraps:
        return None
    weights = submitter_weights(submitters, settings.selection_bootstraps, settings.seed)
    paths = greedy(rank_covariances(ranked, weights), groups, settings)
    chosen = np.where(paths.chosen >= 0, groups[paths.chosen], 0)
    return {int(group): float((chosen == group).any(axis=1).mean()) for group in groups}


def _variables(
    names: list[str],
    groups: Ints,
    path: _Path,
    stability: dict[int, float] | None,
    settings: MethodSettings,
) -> list[Variable]:
    """Returns the result for each candidate that was not dropped before selection."""
    order = [int(i) for i in path.chosen[0] if i >= 0]
    step_of = {int(groups[i]): step for step, i in enumerate(order)}
    result = []
    for i, name in enumerate(names):
        group = int(groups[i])
        step = step_of.get(group, len(order))
        is_chosen = i in order
        share = None if stability is None else stability[group]
        is_stable = None if share is None else share >= settings.stability_threshold
        reason: str | None
        if is_chosen and share is None:
            reason = "chosen; how stably was not computed (no bootstraps)"
        elif is_chosen:
            reason = None if is_stable else f"chosen in {share:.0%} of resamples only"
        elif group in step_of:
            reason = f"goes with {names[order[step]]}"
        else:
            reason = f"adds less than {settings.selection_threshold:.2f}"
        result.append(
            Variable(
                variable=name,
                group_id=group,
                is_selected=is_stable if is_chosen else False,
                selection_order=order.index(i) + 1 if is_chosen else None,
                partial_correlation=float(path.partials[step, 0, i]),
                date_correlation=float(path.partials[0, 0, i]),
                stability=share,
                dropped_reason=reason,
            )
        )
    return result
