"""Chooses a configuration: the cheapest within the limits, and why each other was not chosen.

Every limit is checked on one candidate at a time, so that a looser limit never removes an option.
docs/method.md, section 5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gpurank.errors import Exit, GpurankError
from gpurank.method.pareto import pareto_front
from gpurank.method.prices import Price
from gpurank.method.settings import MethodSettings
from gpurank.method.ties import is_tie

Status = Literal["recommended", "option", "excluded"]
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(d|hours?|h|minutes?|min|m|seconds?|sec|s)", re.I)
_TIE_QUANTILE = MethodSettings().tie_quantile
_MINUTES = {"d": 1440.0, "h": 60.0, "m": 1.0, "s": 1 / 60}


class ChoiceError(GpurankError, ValueError):
    """A limit or a cost that cannot be used; the message says how to write it."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Limits:
    """What an option must satisfy; None: no limit. ``budget`` is in the unit of the cost."""

    within_min: float | None = None
    max_accelerators: int | None = None
    budget: float | None = None
    availability: str | None = None
    is_on_premises: bool | None = None
    division: str | None = "closed"

    def __post_init__(self) -> None:
        """Raises ChoiceError for limits that nothing can satisfy."""
        for name in ("within_min", "max_accelerators", "budget"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ChoiceError(f"{name} is a number above 0, not {value}")


@dataclass(frozen=True, slots=True)
class Cost:
    """How an option's cost is computed: in chip-minutes or, with prices, in money.

    Accelerator-minutes + ``lambda_chips`` x minutes, or accelerators x price x hours +
    ``minute_value`` x minutes.
    """

    lambda_chips: float = 0.0
    minute_value: float = 0.0
    prices: Mapping[str, Price] | None = None

    def __post_init__(self) -> None:
        """Raises ChoiceError if settings of both units are given."""
        if not 0 <= self.lambda_chips < math.inf or not 0 <= self.minute_value < math.inf:
            raise ChoiceError("lambda and the value of a minute are numbers of 0 or more")
        if self.prices is None and self.minute_value:
            raise ChoiceError("the value of a minute is money: give prices with it, or lambda")
        if self.prices is not None and self.lambda_chips:
            raise ChoiceError("lambda counts in chips: with prices give the value of a minute")

    @property
    def unit(self) -> str:
        """The currency, or ``chip-min``."""
        return next(iter(self.prices.values())).currency if self.prices else "chip-min"

    def price(self, accelerator: str | None) -> Price | None:
        """Returns the price that an accelerator's cost is based on."""
        return self.prices.get(accelerator or "") if self.prices else None

    def of(self, accelerator: str | None, count: int, minutes: float) -> float | None:
        """Returns the cost; None if prices are given and this accelerator has none."""
        if self.prices is None:
            return minutes * (count + self.lambda_chips)
        price = self.price(accelerator)
        return minutes * (count * price.per_hour / 60 + self.minute_value) if price else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of marts.result. ``log_score_sd`` is the SD of ln T from run noise."""

    result_id: str
    round_id: str
    submitter: str | None
    system_name: str
    accelerator: str | None
    accelerator_count: int | None
    division: str | None
    availability: str | None
    is_on_premises: bool | None
    score_min: float | None
    score_missing_reason: str | None = None
    copy_of: str | None = None
    log_score_sd: float | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with its cost and status.

    ``kind`` names the limit that excluded it (None for options). ``reason`` explains the exclusion
    or, for an option, why another is recommended. ``is_tie``: tied with the recommended one within
    run-to-run noise. ``is_on_front``: on the Pareto front of time and cost.
    """

    candidate: Candidate
    status: Status
    kind: str | None
    reason: str | None
    cost: float | None
    is_on_front: bool = False
    is_tie: bool = False


@dataclass(frozen=True, slots=True)
class Saving:
    """With the longer deadline ``within_min``, ``candidate`` is cheapest and saves ``saved``."""

    within_min: float
    candidate: Candidate
    cost: float
    saved: float
    saved_share: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision on every candidate: the recommended one, then options, then excluded ones."""

    limits: Limits
    cost: Cost
    rows: tuple[Judged, ...]
    savings: tuple[Saving, ...] = field(default=())

    @property
    def recommended(self) -> Judged | None:
        """The cheapest option; None if there is none."""
        return self.rows[0] if self.rows and self.rows[0].status == "recommended" else None

    @property
    def options(self) -> tuple[Judged, ...]:
        """Every candidate within all limits."""
        return tuple(row for row in self.rows if row.status != "excluded")

    @property
    def front(self) -> tuple[Judged, ...]:
        """The Pareto front of time and cost among the options, by time."""
        front = [row for row in self.options if row.is_on_front]
        return tuple(sorted(front, key=lambda row: (row.candidate.score_min or 0, row.cost)))


def parse_minutes(text: str) -> float:
    """Returns the minutes of ``30min``, ``2h``, ``1h30m``, ``90s``, ``1d`` or ``45`` (minutes).

    Raises:
        ChoiceError: the text is none of these.
    """
    total, rest = 0.0, text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", rest):
        rest += "min"
    while match := _DURATION.match(rest):
        total += float(match[1]) * _MINUTES[match[2][0].lower()]
        rest = rest[match.end() :].lstrip()
    if rest or not 0 < total < math.inf:
        raise ChoiceError(f"{text!r} is not a duration; write 30min, 2h, 1h30m or 90s")
    return total


def decide(candidates: Iterable[Candidate], limits: Limits, cost: Cost) -> Choice:
    """Evaluates every candidate and recommends the cheapest within all limits.

    Equal costs: the faster, then the smaller, then by path.
    """
    options: list[tuple[Candidate, float]] = []
    excluded: list[Judged] = []
    too_slow: list[tuple[Candidate, float]] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.result_id):
        amount = _cost_of(candidate, cost)
        exclusion = find_exclusion(candidate, limits, cost)
        if exclusion is not None:
            kind, reason = exclusion
            excluded.append(Judged(candidate, "excluded", kind, reason, amount))
            if kind == "too_slow" and amount is not None:
                too_slow.append((candidate, amount))
        elif amount is not None:
            options.append((candidate, amount))
    options.sort(key=lambda pair: _sort_key(*pair))
    excluded.sort(key=lambda row: (row.kind or "", row.cost or 0, row.candidate.result_id))
    rows = (*_judge(options, cost), *excluded)
    return Choice(limits, cost, rows, _savings(options, too_slow))


def find_exclusion(candidate: Candidate, limits: Limits, cost: Cost) -> tuple[str, str] | None:
    """Returns the first limit that a candidate violates, with the reason; None if it violates none.

    The deadline is checked last, so that ``too_slow`` means that time alone excludes it.
    """
    return _find_unsuitable(candidate, limits) or _find_excess(candidate, limits, cost)


def _find_unsuitable(candidate: Candidate, limits: Limits) -> tuple[str, str] | None:
    """Returns why a candidate is excluded whatever its cost and time; None if it is not."""
    if candidate.score_min is None:
        return "no_score", f"no score: {candidate.score_missing_reason or 'unknown'}"
    if limits.division is not None and candidate.division != limits.division:
        return "division", f"{candidate.division or 'unknown'} division"
    if candidate.copy_of is not None:
        return "copy", f"the same measurement as {candidate.copy_of}"
    if not candidate.accelerator_count:
        is_unknown = candidate.accelerator_count is None
        return "no_accelerators", "accelerator count unknown" if is_unknown else "no accelerators"
    if limits.availability is not None and candidate.availability != limits.availability:
        filed = candidate.availability or "availability not filed"
        return "availability", f"{filed}, not {limits.availability}"
    if limits.is_on_premises is not None and candidate.is_on_premises != limits.is_on_premises:
        sites = {True: "on premises", False: "cloud", None: "on premises or cloud not filed"}
        return "site", f"{sites[candidate.is_on_premises]}, not {sites[limits.is_on_premises]}"
    return None


def _find_excess(candidate: Candidate, limits: Limits, cost: Cost) -> tuple[str, str] | None:
    """Returns which limit of size, cost or time a candidate exceeds; None if none."""
    count, time = candidate.accelerator_count or 0, candidate.score_min or 0.0
    amount = _cost_of(candidate, cost)
    if amount is None:
        return "no_price", f"no price for {candidate.accelerator or 'an unknown accelerator'}"
    if limits.max_accelerators is not None and count > limits.max_accelerators:
        return "too_many", f"{count} accelerators, {limits.max_accelerators} allowed"
    if limits.budget is not None and amount > limits.budget:
        return "over_budget", f"costs {amount:,.1f} {cost.unit}, {limits.budget:,g} allowed"
    if limits.within_min is not None and time > limits.within_min:
        return "too_slow", f"takes {time:,.2f} min, {limits.within_min:,g} allowed"
    return None


def _judge(options: Sequence[tuple[Candidate, float]], cost: Cost) -> list[Judged]:
    """Returns the options, cheapest first, with the reason why each is not recommended."""
    if not options:
        return []
    times = [candidate.score_min or 0.0 for candidate, _ in options]
    amounts = [amount for _, amount in options]
    front = pareto_front(np.array(times), np.array(amounts))
    best = options[0][0]
    judged = [Judged(best, "recommended", None, None, amounts[0], True)]
    fastest = best
    for (candidate, amount), time, is_on_front in zip(
        options[1:], times[1:], front[1:].tolist(), strict=True
    ):
        # Of equal options, only the first is on the Pareto front.
        is_on_front = is_on_front and time < (fastest.score_min or 0.0)
        extra = amount - amounts[0]
        reason = f"costs {extra:,.1f} {cost.unit} more ({amount / amounts[0] - 1:.1%})"
        if is_on_front:
            reason += f" and is {times[0] - time:,.2f} min faster"
            fastest = candidate
        else:
            reason += f"; {fastest.result_id} is as fast or faster and no dearer"
        is_tied = _is_tied(best, candidate, amounts[0], amount)
        judged.append(Judged(candidate, "option", None, reason, amount, is_on_front, is_tied))
    return judged


def _is_tied(best: Candidate, other: Candidate, best_cost: float, other_cost: float) -> bool:
    if best.log_score_sd is None or other.log_score_sd is None:
        return False
    return is_tie(
        best_cost,
        other_cost,
        best.log_score_sd**2,
        other.log_score_sd**2,
        _TIE_QUANTILE,
    )


def _savings(
    options: Sequence[tuple[Candidate, float]], too_slow: Iterable[tuple[Candidate, float]]
) -> tuple[Saving, ...]:
    """Returns each longer deadline that would allow something cheaper."""
    if not options:
        return ()
    lowest = current = options[0][1]
    savings = []
    for candidate, amount in sorted(
        too_slow, key=lambda pair: (pair[0].score_min or 0, *_sort_key(*pair))
    ):
        if amount < lowest:
            lowest = amount
            time = candidate.score_min or 0.0
            savings.append(Saving(time, candidate, amount, current - amount, 1 - amount / current))
    return tuple(savings)


def _cost_of(candidate: Candidate, cost: Cost) -> float | None:
    if candidate.score_min is None or not candidate.accelerator_count:
        return None
    return cost.of(candidate.accelerator, candidate.accelerator_count, candidate.score_min)


def _sort_key(candidate: Candidate, amount: float) -> tuple[float, float, int, str]:
    return (
        amount,
        candidate.score_min or 0.0,
        candidate.accelerator_count or 0,
        candidate.result_id,
    )
