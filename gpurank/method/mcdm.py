"""Other multi-criteria methods on the same lists, for comparison: what each would put first, and
how often deleting one entry reverses the order of others.

Criteria are T and AM, lower is better. Each function takes costs (..., n, c) and weights (..., c)
and gives values (..., n), lower is better; leading axes are separate lists. docs/method.md,
section 3, names the sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.stats import rankdata

from gpurank.method.settings import Bools, Floats, Ints

_STRATEGY = 0.5
_EQUAL = 1e-11


@dataclass(frozen=True, slots=True)
class MethodResult:
    """What one method says about one list; field names are columns of analysis.sensitivity.

    ``first`` is the position of the entry put first (of several, the one that costs least by
    delay cost), ``first_count`` how many share the place. ``rank_correlation`` is Kendall's tau-b
    with the delay cost (None where all are equal). ``reversal_rate`` is the share of single
    deletions after which two of the others stand in reversed order, ``first_reversal_rate`` the
    share of deletions of one that is not first after which another is first (None where all are
    first). ``time_weight`` is the weight on T where the method has weights.
    """

    method: str
    first: int
    first_count: int
    rank_correlation: float | None
    reversal_rate: float
    first_reversal_rate: float | None
    time_weight: float | None


def topsis(costs: Floats, weights: Floats) -> Floats:
    """1 - closeness to the ideal under vector normalisation (Hwang and Yoon 1981)."""
    scaled = weights[..., None, :] * _over(costs, np.sqrt((costs**2).sum(axis=-2, keepdims=True)))
    best, worst = scaled.min(axis=-2, keepdims=True), scaled.max(axis=-2, keepdims=True)
    to_best = np.sqrt(_total((scaled - best) ** 2))
    to_worst = np.sqrt(_total((scaled - worst) ** 2))
    return _over(to_best, to_best + to_worst)


def vikor(costs: Floats, weights: Floats) -> Floats:
    """Q with equal weight on group utility and individual regret (Opricovic 1998)."""
    regret = weights[..., None, :] * unit(costs)
    parts = (_total(regret), reduce(np.maximum, np.moveaxis(regret, -1, 0)))
    group, worst = (unit(part[..., None])[..., 0] for part in parts)
    value: Floats = _STRATEGY * group + (1 - _STRATEGY) * worst
    return value


def promethee(costs: Floats, weights: Floats) -> Floats:
    """Minus the net flow of PROMETHEE II with the usual criterion (Brans and Vincke 1985)."""
    count = costs.shape[-2]
    ranks = rankdata(costs, axis=-2)
    # Of n entries, those it beats less those that beat it are n + 1 - 2 x its mid-rank.
    net = _total(weights[..., None, :] * (count + 1 - 2 * ranks))
    flow: Floats = -net / max(count - 1, 1)
    return flow


def weighted_sum(costs: Floats, weights: Floats) -> Floats:
    """Weighted sum of min-max scaled costs."""
    return _total(weights[..., None, :] * unit(costs))


def entropy_weights(costs: Floats) -> Floats:
    """Weights by Shannon's entropy of each criterion's shares (Zeleny 1982): (..., c)."""
    count = costs.shape[-2]
    share = costs / costs.sum(axis=-2, keepdims=True)
    logs = np.log(np.where(share > 0, share, 1.0))
    spread = 1 + (share * logs).sum(axis=-2) / np.log(max(count, 2))
    return _shares(np.where(spread > _EQUAL, spread, 0.0))


def critic_weights(costs: Floats) -> Floats:
    """Weights by contrast and conflict, SD x sum of (1 - r) (Diakoulaki et al. 1995): (..., c)."""
    scaled = unit(costs)
    centred = scaled - scaled.mean(axis=-2, keepdims=True)
    product = np.swapaxes(centred, -1, -2) @ centred
    spread = np.sqrt(np.diagonal(product, axis1=-2, axis2=-1))
    related = _over(product, spread[..., :, None] * spread[..., None, :])
    conflict = (1 - related).sum(axis=-1) - (1 - np.diagonal(related, axis1=-2, axis2=-1))
    return _shares(spread * conflict)


def pareto(costs: Floats) -> Floats:
    """Of two criteria: 0 on the front, 1 where another is as good in both and better in one."""
    order = np.lexsort(np.moveaxis(costs[..., ::-1], -1, 0))
    second = np.take_along_axis(costs[..., 1], order, axis=-1)
    first = np.take_along_axis(costs[..., 0], order, axis=-1)
    least = np.minimum.accumulate(second, axis=-1)
    before = np.concatenate([np.full((*least.shape[:-1], 1), np.inf), least[..., :-1]], axis=-1)
    is_new = np.ones(second.shape, dtype=np.bool_)
    is_new[..., 1:] = (np.diff(first, axis=-1) != 0) | (np.diff(second, axis=-1) != 0)
    # Entries equal in both stand or fall with the first of them.
    place = np.where(is_new, np.arange(second.shape[-1]), 0)
    leader = np.maximum.accumulate(place, axis=-1)
    dominated: Bools = np.take_along_axis(second >= before, leader, axis=-1)
    result = np.empty(dominated.shape)
    np.put_along_axis(result, order, dominated.astype(np.float64), axis=-1)
    return result


def unit(costs: Floats) -> Floats:
    """Min-max scaled along the list: 0 the lowest, 1 the highest; 0 where all are equal."""
    low, high = costs.min(axis=-2, keepdims=True), costs.max(axis=-2, keepdims=True)
    return _over(costs - low, high - low)


def compare(time_min: Floats, minutes: Floats, delay_cost: Floats) -> list[MethodResult]:
    """Every method on one list, the delay cost among them.

    Args:
        time_min: (n,) T.
        minutes: (n,) AM.
        delay_cost: (n,) T x (N + lambda).
    """
    costs = np.stack([time_min, minutes], axis=-1)
    count = len(costs)
    place = np.arange(count - 1)
    kept = place + (place >= np.arange(count)[:, None])
    found = [_judge("delay_cost", delay_cost, delay_cost[kept], kept, delay_cost, None)]
    for name in ("topsis", "vikor", "promethee_2", "sum_entropy", "sum_critic", "pareto"):
        whole, weight = _run(name, costs)
        after, _ = _run(name, costs[kept])
        found.append(_judge(name, whole, after, kept, delay_cost, weight))
    return found


def _run(name: str, costs: Floats) -> tuple[Floats, float | None]:
    """Values and, for a single list, the weight on T."""
    if name == "pareto":
        return pareto(costs), None
    equal = np.full((*costs.shape[:-2], costs.shape[-1]), 1 / costs.shape[-1])
    weighing = {"sum_entropy": entropy_weights, "sum_critic": critic_weights}.get(name)
    weights = weighing(costs) if weighing else equal
    method = {"topsis": topsis, "vikor": vikor, "promethee_2": promethee}.get(name, weighted_sum)
    return method(costs, weights), float(weights[0]) if weights.ndim == 1 else None


def _judge(
    name: str, whole: Floats, after: Floats, kept: Ints, delay_cost: Floats, weight: float | None
) -> MethodResult:
    size = max(float(np.abs(whole).max()), 1e-300)
    whole, after = np.round(whole / size, 11), np.round(after / size, 11)
    is_first = whole == whole.min()
    candidates = np.flatnonzero(is_first)
    first = int(candidates[delay_cost[candidates].argmin()])
    tau = kendall(whole, delay_cost)
    others = ~is_first
    lost = _is_lost(is_first, after, kept)[others]
    return MethodResult(
        method=name,
        first=first,
        first_count=len(candidates),
        rank_correlation=None if tau is None else round(tau, 9),
        reversal_rate=float(_is_reversed(whole, after, kept).mean()),
        first_reversal_rate=float(lost.mean()) if others.any() else None,
        time_weight=weight,
    )


def kendall(one: Floats, other: Floats) -> float | None:
    """Kendall's tau-b of two rankings (n,); None where either has all entries equal."""
    signs = [np.sign(values[:, None] - values) for values in (one, other)]
    size = np.sqrt((signs[0] ** 2).sum() * (signs[1] ** 2).sum())
    return float((signs[0] * signs[1]).sum() / size) if size else None


def _is_reversed(whole: Floats, after: Floats, kept: Ints) -> Bools:
    """Whether two of the kept entries stand in reversed order: (d,) for d deletions."""
    before = whole[kept]
    order = np.lexsort((after, before))
    follow = np.take_along_axis(after, order, axis=-1)
    # In the old order (equals by the new one) the new values must not fall.
    fallen: Bools = np.asarray((np.diff(follow, axis=-1) < 0).any(axis=-1))
    return fallen


def _is_lost(is_first: Bools, after: Floats, kept: Ints) -> Bools:
    """Whether none of the former firsts is first among the kept: (d,)."""
    leads = after == after.min(axis=-1, keepdims=True)
    lost: Bools = np.asarray(~(leads & is_first[kept]).any(axis=-1))
    return lost


def _total(values: Floats) -> Floats:
    """Sum over criteria, the last axis; a few whole columns add faster than many short rows."""
    total: Floats = reduce(np.add, np.moveaxis(values, -1, 0))
    return total


def _over(above: Floats, below: Floats) -> Floats:
    """A quotient that is 0 where the divisor is."""
    safe = np.where(below == 0, 1.0, below)
    quotient: Floats = np.where(below == 0, 0.0, above / safe)
    return quotient


def _shares(values: Floats) -> Floats:
    total = values.sum(axis=-1, keepdims=True)
    equal = np.full(values.shape, 1 / values.shape[-1])
    return np.where(total > 0, _over(values, np.broadcast_to(total, values.shape)), equal)
