"""What a choice is made from: candidates of the published warehouse, and a prediction where nothing
filed keeps the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpurank.answers import warehouse as reading
from gpurank.answers.warehouse import NoData
from gpurank.declared.rounds import round_order
from gpurank.method.choice import Candidate, Choice

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# What an accelerator's rows may fail and a system of another size of it still keep.
_OF_SIZE = frozenset({"too_many", "over_budget", "too_slow"})


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the fleet law says of a system that nobody filed: derived, never a result.

    ``score_low_min`` and ``score_high_min`` hold 90 % (None: too few filed to tell);
    ``is_extrapolated``: the count lies outside those filed with the accelerator;
    ``is_likely``: the whole interval keeps the deadline.
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


def rounds_of(con: DuckDBPyConnection, benchmark: str, round_id: str | None) -> tuple[str, ...]:
    """The round asked for, or all of the span that the benchmark's newest round belongs to.

    Raises:
        NoData: nothing has a score there.
    """
    sql = "select round_id, span_id from marts.result where benchmark = ? and score_min is not null"
    spans = dict(reading.ask(con, f"{sql} group by all", [benchmark]).rows)
    if not spans:
        raise NoData(f"no result of {benchmark} has a score; see marts.data_quality")
    known = sorted(spans, key=round_order)
    if round_id is None:
        return tuple(name for name in known if spans[name] == spans[known[-1]])
    if round_id not in spans:
        hint = reading.nearest_round(round_id, known)
        raise NoData(f"nothing of {benchmark} has a score in {round_id}; {hint}")
    return (round_id,)


def candidates_of(
    con: DuckDBPyConnection, benchmark: str, rounds: Sequence[str]
) -> list[Candidate]:
    """Every result of a benchmark in these rounds; a measurement filed again names its first filing
    where that is among them."""
    found = reading.ask(con, _CANDIDATES, [list(rounds), benchmark, list(rounds)])
    return [Candidate(**dict(zip(found.columns, row, strict=True))) for row in found.rows]


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


def predict(
    con: DuckDBPyConnection, benchmark: str, choice: Choice
) -> tuple[Prediction | None, str | None]:
    """The cheapest predicted system inside the limits, of accelerators filed as they ask for."""
    kinds = sorted(
        {r.candidate.accelerator for r in choice.rows if r.kind in _OF_SIZE} - {None}, key=str
    )
    law = reading.ask(con, "select reason from marts.fleet_law where benchmark = ?", [benchmark])
    if not law.rows or law.rows[0][0]:
        return None, f"{benchmark} has no fleet law: {law.rows[0][0] if law.rows else 'not fitted'}"
    if not kinds:
        return None, "no accelerator was filed as the limits ask"
    found = reading.ask(con, _PREDICTIONS, [benchmark, kinds])
    made = [_prediction(dict(zip(found.columns, row, strict=True)), choice) for row in found.rows]
    inside = [one for one in made if one is not None]
    if not inside:
        return None, "not predicted for any count inside the limits either"
    return min(inside, key=_preference), None


_PREDICTIONS = """
select accelerator, accelerator_count, score_min, score_low_min, score_high_min, is_extrapolated,
       software_round_id
from marts.prediction
where benchmark = ? and list_contains(?, accelerator) and not is_filed
order by accelerator, accelerator_count
"""


def _prediction(row: dict[str, Any], choice: Choice) -> Prediction | None:
    limits = choice.limits
    cost = choice.cost.of(row["accelerator"], row["accelerator_count"], row["score_min"])
    most, last = limits.max_accelerators, limits.within_min
    if (
        cost is None
        or (most is not None and row["accelerator_count"] > most)
        or (last is not None and row["score_min"] > last)
        or (limits.budget is not None and cost > limits.budget)
    ):
        return None
    high = row["score_high_min"]
    is_likely = high is not None and (last is None or high <= last)
    return Prediction(**row, is_likely=is_likely, cost=cost)


def _preference(one: Prediction) -> tuple[bool, bool, float, str, int]:
    """Inside the filed counts first, then likely, then cheap."""
    return (
        one.is_extrapolated,
        not one.is_likely,
        one.cost,
        one.accelerator,
        one.accelerator_count,
    )


def notes_of(con: DuckDBPyConnection, benchmark: str, rounds: Sequence[str]) -> tuple[str, ...]:
    """What changed besides systems between rounds that are compared."""
    sql = (
        "select distinct round_id, soft_break_reason from marts.result "
        "where benchmark = ? and soft_break_reason is not null order by all"
    )
    if len(rounds) < 2:
        return ()
    found = reading.ask(con, sql, [benchmark]).rows
    return tuple(f"From {name} on: {reason}." for name, reason in found if name in rounds[1:])
