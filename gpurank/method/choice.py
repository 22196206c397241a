"""Choose a configuration: limits, what costs least inside them, and why each other is not it.

Pure: rows in, a decision out. Every limit looks at one row alone, so that a looser limit never
removes an option. docs/method.md, section 5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gpurank.errors import Exit, GpurankError
from gpurank.method.prices import Price

Status = Literal["recommended", "option", "excluded"]
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(d|hours?|h|minutes?|min|m|seconds?|sec|s)", re.I)
_MINUTES = {"d": 1440.0, "h": 60.0, "m": 1.0, "s": 1 / 60}


class ChoiceError(GpurankError, ValueError):
    """A limit or a cost that makes no sense: says which and how to write it."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class Limits:
    """What an option must keep to; None: no limit. ``budget`` is in the unit of the cost."""

    within_min: float | None = None
    max_accelerators: int | None = None
    budget: float | None = None
    availability: str | None = None
    is_on_premises: bool | None = None
    division: str | None = "closed"

    def __post_init__(self) -> None:
        """Refuse limits that nothing can keep."""
        for name in ("within_min", "max_accelerators", "budget"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ChoiceError(f"{name} is a number above 0, not {value}")


@dataclass(frozen=True, slots=True)
class Cost:
    """What an option costs, in accelerator-minutes or, with prices, in money.

    accelerator-minutes + ``lambda_chips`` x minutes, or accelerators x price x hours +
    ``minute_value`` x minutes.
    """

    lambda_chips: float = 0.0
    minute_value: float = 0.0
    prices: Mapping[str, Price] | None = None

    def __post_init__(self) -> None:
        """Refuse one unit's setting beside the other's."""
        if not 0 <= self.lambda_chips < math.inf or not 0 <= self.minute_value < math.inf:
            raise ChoiceError("lambda and the value of a minute are numbers of 0 or more")
        if self.prices is None and self.minute_value:
            raise ChoiceError("the value of a minute is money: give prices with it, or lambda")
        if self.prices is not None and self.lambda_chips:
            raise ChoiceError("lambda counts in chips: with prices give the value of a minute")

    @property
    def unit(self) -> str:
        """The currency, or chip-min."""
        return next(iter(self.prices.values())).currency if self.prices else "chip-min"

    def price(self, accelerator: str | None) -> Price | None:
        """The price that an accelerator's cost stands on."""
        return self.prices.get(accelerator or "") if self.prices else None

    def of(self, accelerator: str | None, count: int, minutes: float) -> float | None:
        """The cost; None where prices are given and this accelerator has none."""
        if self.prices is None:
            return minutes * (count + self.lambda_chips)
        price = self.price(accelerator)
        return minutes * (count * price.per_hour / 60 + self.minute_value) if price else None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One result, as marts.result has it. ``log_score_sd`` is the SD of ln T from run noise."""

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
    """A candidate with its cost and what became of it.

    ``kind`` names the limit that excluded it (None for options), ``reason`` says it in words, for
    an option why another is recommended. ``is_tie``: run noise cannot part it from that.
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
    """With the deadline ``within_min``, ``candidate`` is the cheapest and saves ``saved``."""

    within_min: float
    candidate: Candidate
    cost: float
    saved: float
    saved_share: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision: every row judged, recommended first, then options, then the excluded."""

    limits: Limits
    cost: Cost
    rows: tuple[Judged, ...]
    savings: tuple[Saving, ...] = field(default=())

    @property
    def recommended(self) -> Judged | None:
        """The cheapest option; None where nothing fits."""
        return self.rows[0] if self.rows and self.rows[0].status == "recommended" else None

    @property
    def options(self) -> tuple[Judged, ...]:
        """Every row that keeps all limits."""
        return tuple(row for row in self.rows if row.status != "excluded")

    @property
    def front(self) -> tuple[Judged, ...]:
        """Options that none is as fast as and cheaper than, or as cheap as and faster; by time."""
        front = [row for row in self.options if row.is_on_front]
        return tuple(sorted(front, key=lambda row: (row.candidate.score_min or 0, row.cost)))


def parse_minutes(text: str) -> float:
    """Minutes of ``30min``, ``2h``, ``1h30m``, ``90s``, ``1d`` or ``45`` (minutes).

    Raises:
        ChoiceError: it is none of these.
    """
    total, rest = 0.0, text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", rest):
        rest += "min"
    while match := _SPAN.match(rest):
        total += float(match[1]) * _MINUTES[match[2][0].lower()]
        rest = rest[match.end() :].lstrip()
    if rest or not 0 < total < math.inf:
        raise ChoiceError(f"{text!r} is no length of time; write 30min, 2h, 1h30m or 90s")
    return total


def decide(candidates: Iterable[Candidate], limits: Limits, cost: Cost) -> Choice:
    """Judge every candidate; the cheapest that keeps all limits is recommended.

    Equal costs: the faster, then the smaller, then by path.
    """
    options: list[tuple[Candidate, float]] = []
    excluded: list[Judged] = []
    late: list[tuple[Candidate, float]] = []
    for candidate in sorted(candidates, key=lambda one: one.result_id):
        found = exclusion(candidate, limits, cost)
        price = _cost_of(candidate, cost)
        if found is None and price is not None:
            options.append((candidate, price))
        elif found is not None:
            excluded.append(Judged(candidate, "excluded", *found, price))
            if found[0] == "too_slow" and price is not None:
                late.append((candidate, price))
    options.sort(key=lambda pair: _order(*pair))
    judged = _judge(options, cost)
    excluded.sort(key=lambda row: (row.kind or "", row.cost or 0, row.candidate.result_id))
    return Choice(limits, cost, (*judged, *excluded), _savings(options, late))


def exclusion(candidate: Candidate, limits: Limits, cost: Cost) -> tuple[str, str] | None:
    """The first limit that a candidate does not keep, with its reason; None where it keeps all.

    The deadline comes last, so that ``too_slow`` means by nothing but time.
    """
    return _unfit(candidate, limits) or _beyond(candidate, limits, cost)


def _unfit(candidate: Candidate, limits: Limits) -> tuple[str, str] | None:
    """What a candidate is, or lacks, that no price or deadline would mend."""
    if candidate.score_min is None:
        return "no_score", f"no score: {candidate.score_missing_reason or 'unknown'}"
    if limits.division is not None and candidate.division != limits.division:
        return "division", f"{candidate.division or 'unknown'} division"
    if candidate.copy_of is not None:
        return "copy", f"the same measurement as {candidate.copy_of}"
    if not candidate.accelerator_count:
        unknown = candidate.accelerator_count is None
        return "no_accelerators", "accelerator count unknown" if unknown else "no accelerators"
    if limits.availability is not None and candidate.availability != limits.availability:
        filed = candidate.availability or "availability not filed"
        return "availability", f"{filed}, not {limits.availability}"
    if limits.is_on_premises is not None and candidate.is_on_premises != limits.is_on_premises:
        sites = {True: "on premises", False: "cloud", None: "on premises or cloud not filed"}
        return "site", f"{sites[candidate.is_on_premises]}, not {sites[limits.is_on_premises]}"
    return None


def _beyond(candidate: Candidate, limits: Limits, cost: Cost) -> tuple[str, str] | None:
    count, time = candidate.accelerator_count or 0, candidate.score_min or 0.0
    price = _cost_of(candidate, cost)
    if price is None:
        return "no_price", f"no price for {candidate.accelerator or 'an unknown accelerator'}"
    if limits.max_accelerators is not None and count > limits.max_accelerators:
        return "too_many", f"{count} accelerators, {limits.max_accelerators} allowed"
    if limits.budget is not None and price > limits.budget:
        return "over_budget", f"costs {price:,.1f} {cost.unit}, {limits.budget:,g} allowed"
    if limits.within_min is not None and time > limits.within_min:
        return "too_slow", f"takes {time:,.2f} min, {limits.within_min:,g} allowed"
    return None


def _judge(options: Sequence[tuple[Candidate, float]], cost: Cost) -> list[Judged]:
    """Options, cheapest first, with the front and the reason why each is not recommended."""
    fastest: Candidate | None = None
    judged: list[Judged] = []
    for candidate, price in options:
        time = candidate.score_min or 0.0
        # Rising cost: one that is not faster than all before it is dominated.
        is_on_front = fastest is None or time < (fastest.score_min or 0.0)
        if not judged:
            judged.append(Judged(candidate, "recommended", None, None, price, True))
        else:
            best, least = judged[0].candidate, judged[0].cost or 0.0
            more = f"costs {price - least:,.1f} {cost.unit} more ({price / least - 1:.1%})"
            if is_on_front:
                reason = f"{more} and is {(best.score_min or 0.0) - time:,.2f} min faster"
            else:
                shadow = fastest.result_id if fastest else ""
                reason = f"{more}; {shadow} is as fast or faster and no dearer"
            tie = _is_tie(best, candidate, least, price)
            judged.append(Judged(candidate, "option", None, reason, price, is_on_front, tie))
        if is_on_front:
            fastest = candidate
    return judged


def _is_tie(best: Candidate, other: Candidate, least: float, price: float) -> bool:
    noise = [one.log_score_sd for one in (best, other)]
    if None in noise:
        return False
    return math.log(price / least) < 1.645 * math.hypot(*(sd for sd in noise if sd is not None))


def _savings(
    options: Sequence[tuple[Candidate, float]], late: Iterable[tuple[Candidate, float]]
) -> tuple[Saving, ...]:
    """Each longer deadline at which something cheaper comes in reach."""
    if not options:
        return ()
    least = now = options[0][1]
    found = []
    for candidate, price in sorted(late, key=lambda pair: (pair[0].score_min or 0, *_order(*pair))):
        if price < least:
            least = price
            time = candidate.score_min or 0.0
            found.append(Saving(time, candidate, price, now - price, 1 - price / now))
    return tuple(found)


def _cost_of(candidate: Candidate, cost: Cost) -> float | None:
    if candidate.score_min is None or not candidate.accelerator_count:
        return None
    return cost.of(candidate.accelerator, candidate.accelerator_count, candidate.score_min)


def _order(candidate: Candidate, price: float) -> tuple[float, float, int, str]:
    return (
        price,
        candidate.score_min or 0.0,
        candidate.accelerator_count or 0,
        candidate.result_id,
    )
