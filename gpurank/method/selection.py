"""Stage 1: which variables of a configuration go with its time and its accelerator-minutes.

Greedy forward selection by partial rank correlation, one variable a redundancy group, with the
round's date forced in as control; stability over resampled submitters. docs/method.md, section 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from gpurank.method.ranks import project_out, rank_covariances, spearman
from gpurank.method.settings import (
    Bools,
    Floats,
    Ints,
    MethodError,
    MethodSettings,
    analysis_set,
    floats,
    one_thread,
)

Target = Literal["score_min", "accelerator_minutes"]
TARGETS: tuple[Target, ...] = ("score_min", "accelerator_minutes")

# What a target is computed from or computed of. Such a column explains it by algebra alone.
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
_DATE, _FIRST = 1, 2


@dataclass(frozen=True, slots=True)
class Variable:
    """What selection says about one candidate.

    ``partial_correlation`` is with the date and the variables selected before this one; for a
    variable that was not selected, with what had been selected when its group was taken or when
    selection stopped. ``date_correlation`` is with the date alone. ``stability`` is the share of
    resamples in which any member of the group was chosen; without resamples it is None, and so is
    ``is_selected`` of what was chosen.
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
    """One benchmark and target. ``reason`` says why nothing could be selected, else None."""

    benchmark: str
    target: Target
    row_count: int
    submitter_count: int
    variables: tuple[Variable, ...]
    reason: str | None = None


def candidates(frame: pl.DataFrame, columns: tuple[str, ...] = COLUMNS) -> dict[str, Floats]:
    """The candidate variables by name: (n,) each, nan where unknown.

    CPU vendors have no order, so each becomes an indicator of its own.

    Raises:
        MethodError: a target's algebraic relative is among the columns.
    """
    barred = RELATIVES & set(columns)
    if barred:
        raise MethodError(f"{', '.join(sorted(barred))} cannot predict a time it is made of")
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
    """Reasons to drop a candidate before selection, by name: too often missing, or constant."""
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
    """Group numbers, 1.. by first member: complete linkage on 1 - |Spearman|. (n, p) -> (p,)."""
    count = values.shape[1]
    if count < 2:
        return np.ones(count, dtype=np.int64)
    apart = np.round(1 - np.abs(spearman(values)), 12)
    np.fill_diagonal(apart, 0)
    labels = fcluster(linkage(squareform(apart), "complete"), distance, "distance")
    first = {label: i + 1 for i, label in enumerate(dict.fromkeys(labels.tolist()))}
    return np.array([first[label] for label in labels.tolist()], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Path:
    """Greedy paths of b resamples: chosen (b, steps), -1 after the stop; partials (steps, b, p)."""

    chosen: Ints
    partials: Floats


def greedy(covariances: Floats, groups: Ints, settings: MethodSettings) -> _Path:
    """Forward selection in every resample at once.

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
        # Rounded, so that the order of names and not the last bit decides between equals.
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
    """Row weights of bootstraps over submitters: (count, n), each a whole number."""
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
    """Select the variables that go with a target on a benchmark's analysis set.

    Args:
        frame: columns of metrics.configuration.
        benchmark: canonical name.
        target: score_min (T) or accelerator_minutes (AM); ranks make their logarithm the same.
        settings: thresholds, bootstraps and seed.
        columns: numeric candidate columns; ratios and CPU vendors are added to them.

    Raises:
        MethodError: a candidate is made of the target.
    """
    rows = analysis_set(frame, benchmark)
    table = candidates(rows, columns)
    submitters = rows["submitter"].fill_null("").to_list()
    shape = (benchmark, target, len(rows), len(set(submitters)))
    reason = _too_little(shape[2], shape[3], settings)
    dropped = dict.fromkeys(table, reason) if reason else screen(table, settings)
    names = [name for name in table if name not in dropped]
    lost = tuple(Variable(name, dropped_reason=text) for name, text in dropped.items())
    if not names:
        return Selection(*shape, lost, reason or "no candidate varies")
    values = np.stack([table[name] for name in names], axis=1)
    groups = redundancy_groups(values, settings.redundancy_distance)
    # On ranks the order of rounds is their dates, and stays known where a date is not.
    full = np.column_stack([floats(rows, target), floats(rows, "round_index"), values])
    with one_thread():
        path = greedy(rank_covariances(full, np.ones((1, len(rows)))), groups, settings)
        stability = _stability(full, submitters, groups, settings)
    found = _describe(names, groups, path, stability, settings)
    return Selection(*shape, tuple(sorted((*found, *lost), key=lambda v: v.variable)))


def _stability(
    full: Floats, submitters: list[str], groups: Ints, settings: MethodSettings
) -> dict[int, float] | None:
    """The share of resamples over submitters that choose each group; None without resamples."""
    if not settings.selection_bootstraps:
        return None
    weights = submitter_weights(submitters, settings.selection_bootstraps, settings.seed)
    resampled = greedy(rank_covariances(full, weights), groups, settings)
    taken = np.where(resampled.chosen >= 0, groups[resampled.chosen], 0)
    return {int(g): float((taken == g).any(axis=1).mean()) for g in groups}


def _too_little(row_count: int, submitter_count: int, settings: MethodSettings) -> str | None:
    if row_count < settings.selection_minimum_rows:
        return f"{row_count} rows, {settings.selection_minimum_rows} needed"
    if submitter_count < settings.selection_minimum_submitters:
        return f"{submitter_count} submitters, {settings.selection_minimum_submitters} needed"
    return None


def _describe(
    names: list[str],
    groups: Ints,
    path: _Path,
    stability: dict[int, float] | None,
    settings: MethodSettings,
) -> list[Variable]:
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
