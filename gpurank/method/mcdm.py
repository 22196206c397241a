"""Other multi-criteria methods on the same lists: what each ranks first, and rank reversals.

A rank reversal is a change in the order of two entries when a third is deleted. Criteria are T and
AM, lower is better. Each function takes costs (..., n, c) and weights (..., c) and returns values
(..., n), lower is better; leading axes are separate lists. docs/method.md, section 3, names the
sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.stats import kendalltau, rankdata

from gpurank.method.arrays import Bools, Floats, Ints
from gpurank.method.pareto import pareto_front

# VIKOR's weight on group utility; the rest is on individual regret.
_GROUP_UTILITY = 0.5
# Values that differ by less, relative to the largest, are equal but for rounding.
_DIGITS = 11


@dataclass(frozen=True, slots=True)
class MethodResult:
    """One method on one list; field names are columns of analysis.sensitivity.

    ``first`` is the position of the entry ranked first (of several, the one with the lowest delay
    cost), ``first_count`` how many are first. ``rank_correlation`` is Kendall's tau-b with the
    delay cost (None if all are equal). ``reversal_rate`` is the share of single deletions that
    reverse two of the other entries, ``first_reversal_rate`` the share of deletions of an entry
    that is not first after which another is first (None if all are first). ``time_weight`` is the
    weight on T if the method has weights.
    """

    method: str
    first: int
    first_count: int
    rank_correlation: float | None
    reversal_rate: float
    first_reversal_rate: float | None
    time_weight: float | None


def topsis(costs: Floats, weights: Floats) -> Floats:
    """Returns 1 - closeness to the ideal under vector normalisation (Hwang and Yoon 1981)."""
    scaled = weights[..., None, :] * _over(costs, np.sqrt((costs**2).sum(axis=-2, keepdims=True)))
    best, worst = scaled.min(axis=-2, keepdims=True), scaled.max(axis=-2, keepdims=True)
    to_best = np.sqrt(_total((scaled - best) ** 2))
    to_worst = np.sqrt(_total((scaled - worst) ** 2))
    return _over(to_best, to_best + to_worst)


def vikor(costs: Floats, weights: Floats) -> Floats:
    """Returns Q with equal weight on group utility and individual regret (Opricovic 1998)."""
    regret = weights[..., None, :] * unit(costs)
    parts = (_total(regret), reduce(np.maximum, np.moveaxis(regret, -1, 0)))
    group, worst = (unit(part[..., None])[..., 0] for part in parts)
    value: Floats = _GROUP_UTILITY * group + (1 - _GROUP_UTILITY) * worst
    return value


def promethee(costs: Floats, weights: Floats) -> Floats:
    """Returns minus the net flow of PROMETHEE II, usual criterion (Brans and Vincke 1985)."""
    count = costs.shape[-2]
    ranks = rankdata(costs, axis=-2)
    # Of n entries, those it beats less those that beat it are n + 1 - 2 x its mid-rank.
    net = _total(weights[..., None, :] * (count + 1 - 2 * ranks))
    flow: Floats = -net / max(count - 1, 1)
    return flow


def weighted_sum(costs: Floats, weights: Floats) -> Floats:
    """Returns the weighted sum of min-max scaled costs."""
    return _total(weights[..., None, :] * unit(costs))


def entropy_weights(costs: Floats) -> Floats:
    """Returns weights by the Shannon entropy of each criterion's shares (Zeleny 1982): (..., c)."""
    count = costs.shape[-2]
    share = costs / costs.sum(axis=-2, keepdims=True)
    logs = np.log(np.where(share > 0, share, 1.0))
    spread = 1 + (share * logs).sum(axis=-2) / np.log(max(count, 2))
    return _shares(np.where(spread > 10**-_DIGITS, spread, 0.0))


def critic_weights(costs: Floats) -> Floats:
    """Returns CRITIC weights, SD x sum of (1 - r) (Diakoulaki et al. 1995): (..., c)."""
    scaled = unit(costs)
    centred = scaled - scaled.mean(axis=-2, keepdims=True)
    product = np.swapaxes(centred, -1, -2) @ centred
    spread = np.sqrt(np.diagonal(product, axis1=-2, axis2=-1))
    related = _over(product, spread[..., :, None] * spread[..., None, :])
    conflict = (1 - related).sum(axis=-1) - (1 - np.diagonal(related, axis1=-2, axis2=-1))
    return _shares(spread * conflict)


def pareto(costs: Floats) -> Floats:
    """Returns 0 on the Pareto front of two criteria, else 1."""
    return np.where(pareto_front(costs[..., 0], costs[..., 1]), 0.0, 1.0)


def unit(costs: Floats) -> Floats:
    """Returns costs scaled to 0 (lowest) to 1 (highest) along the list; 0 where all are equal."""
    low, high = costs.min(axis=-2, keepdims=True), costs.max(axis=-2, keepdims=True)
    return _over(costs - low, high - low)


def compare(time_min: Floats, minutes: Floats, delay_cost: Floats) -> list[MethodResult]:
    """Returns a result of every method on one list, the delay cost among them.

    Args:
        time_min: (n,) T.
        minutes: (n,) AM.
        delay_cost: (n,) T x (N + lambda).
    """
    costs = np.stack([time_min, minutes], axis=-1)
    count = len(costs)
    index = np.arange(count - 1)
    # Row i holds the entries that remain when entry i is deleted.
    kept = index + (index >= np.arange(count)[:, None])
    results = [_result("delay_cost", delay_cost, delay_cost[kept], kept, delay_cost, None)]
    for name in ("topsis", "vikor", "promethee_2", "sum_entropy", "sum_critic", "pareto"):
        values, weights = _values(name, costs)
        after, _ = _values(name, costs[kept])
        time_weight = None if weights is None else float(weights[0])
        results.append(_result(name, values, after, kept, delay_cost, time_weight))
    return results


def _values(name: str, costs: Floats) -> tuple[Floats, Floats | None]:
    """Returns a method's values (..., n) and its weights (..., c), None if it has none."""
    if name == "pareto":
        return pareto(costs), None
    if name == "sum_entropy":
        weights = entropy_weights(costs)
    elif name == "sum_critic":
        weights = critic_weights(costs)
    else:
        weights = np.full((*costs.shape[:-2], costs.shape[-1]), 1 / costs.shape[-1])
    method = {"topsis": topsis, "vikor": vikor, "promethee_2": promethee}.get(name, weighted_sum)
    return method(costs, weights), weights


def _result(
    name: str,
    values: Floats,
    after: Floats,
    kept: Ints,
    delay_cost: Floats,
    time_weight: float | None,
) -> MethodResult:
    """Compares values (n,) with the values ``after`` each deletion, (n, n - 1) of entries kept."""
    scale = max(float(np.abs(values).max()), 1e-300)
    values, after = np.round(values / scale, _DIGITS), np.round(after / scale, _DIGITS)
    is_first = values == values.min()
    firsts = np.flatnonzero(is_first)
    is_lost = _is_first_lost(is_first, after, kept)[~is_first]
    correlation = float(kendalltau(values, delay_cost).statistic)
    return MethodResult(
        method=name,
        first=int(firsts[delay_cost[firsts].argmin()]),
        first_count=len(firsts),
        rank_correlation=None if np.isnan(correlation) else round(correlation, 9),
        reversal_rate=float(_is_reversed(values, after, kept).mean()),
        first_reversal_rate=float(is_lost.mean()) if len(is_lost) else None,
        time_weight=time_weight,
    )


def _is_reversed(values: Floats, after: Floats, kept: Ints) -> Bools:
    """Returns whether any two of the kept entries are in reversed order: (d,) for d deletions."""
    order = np.lexsort((after, values[kept]))
    # Sorted by the old values (equal ones by the new), new values must not fall.
    sorted_after = np.take_along_axis(after, order, axis=-1)
    is_reversed: Bools = np.asarray((np.diff(sorted_after, axis=-1) < 0).any(axis=-1))
    return is_reversed


def _is_first_lost(is_first: Bools, after: Floats, kept: Ints) -> Bools:
    """Returns whether none of the former firsts is first among the kept: (d,)."""
    is_first_after = after == after.min(axis=-1, keepdims=True)
    is_lost: Bools = np.asarray(~(is_first_after & is_first[kept]).any(axis=-1))
    return is_lost


def _total(values: Floats) -> Floats:
    """Returns the sum over criteria, the last axis; adding whole columns is faster than rows."""
    total: Floats = reduce(np.add, np.moveaxis(values, -1, 0))
    return total


def _over(dividend: Floats, divisor: Floats) -> Floats:
    """Returns a quotient that is 0 where the divisor is."""
    quotient: Floats = dividend / np.where(divisor == 0, 1.0, divisor)
    return np.where(divisor == 0, 0.0, quotient)


def _shares(values: Floats) -> Floats:
    """Returns values divided by their sum; equal shares if it is 0."""
    total = values.sum(axis=-1, keepdims=True)
    equal = np.full(values.shape, 1 / values.shape[-1])
    return np.where(total > 0, _over(values, np.broadcast_to(total, values.shape)), equal)
