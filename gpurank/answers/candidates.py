"""Reads candidates for a choice: submitted systems, or predicted ones if none fits the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpurank.answers.warehouse import NoData, ask, nearest_round, require_fleet_law
from gpurank.declared.rounds import round_order
from gpurank.method.choice import Candidate, Choice

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Limits that a system of another size, with the same accelerator, might satisfy.
_LIMITS_OF_SIZE = frozenset({"too_many", "over_budget", "too_slow"})


@dataclass(frozen=True, slots=True)
class PredictedSystem:
    """A system that nobody submitted, with its time by the fleet law: derived, never a result.

    ``score_low_min`` to ``score_high_min`` is the 90 % prediction interval (None: too few results
    to measure it); ``is_extrapolated``: the count is outside those submitted with the accelerator;
    ``is_likely``: the whole interval is within the deadline.
    """

    accelerator: str
    accelerator_count: int
    score_min: float
    score_low_min: float | None
    score_high_min: float | None
    is_extrapolated: bool
    is_likely: bool
    cost: float
    software_round_id: str
    label: str = "derived prediction, not a result"


def select_rounds(con: DuckDBPyConnection, benchmark: str, round_id: str | None) -> tuple[str, ...]:
    """Returns the given round, or all rounds comparable with the benchmark's newest one.

    Raises:
        NoData: nothing has a score there.
    """
    sql = "select round_id, span_id from marts.result where benchmark = ? and score_min is not null"
    spans = dict(ask(con, f"{sql} group by all", [benchmark]).rows)
    if not spans:
        raise NoData(f"no result of {benchmark} has a score; see marts.data_quality")
    rounds = sorted(spans, key=round_order)
    if round_id is None:
        return tuple(name for name in rounds if spans[name] == spans[rounds[-1]])
    if round_id not in spans:
        hint = nearest_round(round_id, rounds)
        raise NoData(f"nothing of {benchmark} has a score in {round_id}; {hint}")
    return (round_id,)


def read_candidates(
    con: DuckDBPyConnection, benchmark: str, rounds: Sequence[str]
) -> list[Candidate]:
    """Returns every result of a benchmark in these rounds.

    A measurement that was submitted again names its first submission if that is among them.
    """
    answer = ask(con, _CANDIDATES, [list(rounds), benchmark, list(rounds)])
    return [Candidate(**row) for row in answer.dicts()]


_CANDIDATES = """
select r.result_id, r.round_id, r.submitter, r.system_name, r.accelerator, r.accelerator_count,
       r.division, r.availability, r.is_on_premises, r.score_min, r.score_missing_reason,
       case
           when r.is_same_round_copy or (
               not r.is_independent and list_contains(?, r.first_seen_round_id)
               and r.first_seen_round_id <> r.round_id
           ) then r.first_seen_result_id
       end as copy_of,
       k.log_score_sd
from marts.result r
left join marts.ranking k on k.result_id = r.result_id and k.scope = 'round'
where r.benchmark = ? and list_contains(?, r.round_id)
order by r.result_id
"""


def predict_system(con: DuckDBPyConnection, benchmark: str, choice: Choice) -> PredictedSystem:
    """Returns the best predicted system within the limits, with an accelerator that they allow.

    Raises:
        NoData: there is none; the message says why.
    """
    require_fleet_law(con, benchmark)
    accelerators = sorted(
        {
            row.candidate.accelerator
            for row in choice.rows
            if row.kind in _LIMITS_OF_SIZE and row.candidate.accelerator is not None
        }
    )
    if not accelerators:
        raise NoData("no accelerator was filed as the limits ask")
    rows = ask(con, _PREDICTIONS, [benchmark, accelerators]).dicts()
    systems = [system for row in rows if (system := _within_limits(row, choice)) is not None]
    if not systems:
        raise NoData("not predicted for any count inside the limits either")
    return min(systems, key=_sort_key)


_PREDICTIONS = """
select accelerator, accelerator_count, score_min, score_low_min, score_high_min, is_extrapolated,
       software_round_id
from marts.prediction
where benchmark = ? and list_contains(?, accelerator) and not is_filed
order by accelerator, accelerator_count
"""


def _within_limits(row: dict[str, Any], choice: Choice) -> PredictedSystem | None:
    limits = choice.limits
    cost = choice.cost.of(row["accelerator"], row["accelerator_count"], row["score_min"])
    max_count, deadline = limits.max_accelerators, limits.within_min
    if (
        cost is None
        or (max_count is not None and row["accelerator_count"] > max_count)
        or (deadline is not None and row["score_min"] > deadline)
        or (limits.budget is not None and cost > limits.budget)
    ):
        return None
    high = row["score_high_min"]
    is_likely = high is not None and (deadline is None or high <= deadline)
    return PredictedSystem(**row, is_likely=is_likely, cost=cost)


def _sort_key(system: PredictedSystem) -> tuple[bool, bool, float, str, int]:
    """Sorts interpolated systems first, then likely ones, then by cost."""
    return (
        system.is_extrapolated,
        not system.is_likely,
        system.cost,
        system.accelerator,
        system.accelerator_count,
    )


def read_soft_breaks(
    con: DuckDBPyConnection, benchmark: str, rounds: Sequence[str]
) -> tuple[str, ...]:
    """Returns what changed besides systems between rounds that are compared."""
    sql = (
        "select distinct round_id, soft_break_reason from marts.result "
        "where benchmark = ? and soft_break_reason is not null order by all"
    )
    breaks = ask(con, sql, [benchmark]).rows
    return tuple(f"From {name} on: {reason}." for name, reason in breaks if name in rounds[1:])
