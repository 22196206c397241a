"""Choosing from the published warehouse: the question as people ask it, and the whole answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers import warehouse as reading
from gpurank.answers.choice_candidates import (
    Prediction,
    candidates_of,
    notes_of,
    predict,
    rounds_of,
)
from gpurank.answers.warehouse import Answer
from gpurank.method.choice import (
    Choice,
    ChoiceError,
    Cost,
    Judged,
    Limits,
    decide,
    parse_minutes,
)
from gpurank.method.prices import read_prices
from gpurank.settings import load

if TYPE_CHECKING:
    import polars as pl
    from duckdb import DuckDBPyConnection

AVAILABILITIES = ("available", "preview", "research")
DIVISIONS = ("closed", "open")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice with what it was made from.

    ``prediction`` stands where no filed system keeps the limits, or ``prediction_missing_reason``.
    """

    benchmark: str
    rounds: tuple[str, ...]
    choice: Choice
    prediction: Prediction | None
    prediction_missing_reason: str | None
    notes: tuple[str, ...] = ()

    def answer(self) -> Answer:
        """Every judged row, in the order of the choice."""
        return Answer(
            tuple(COLUMNS), tuple(map(self._row, self.choice.rows)), tuple(COLUMNS.values())
        )

    def frame(self) -> pl.DataFrame:
        """``answer`` as a polars frame."""
        import polars as pl

        found = self.answer()
        return pl.DataFrame(
            list(found.rows), schema=list(found.columns), orient="row", infer_schema_length=None
        )

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        found = self.answer()
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
        return {
            "benchmark": self.benchmark,
            "rounds": list(self.rounds),
            "limits": asdict(self.choice.limits),
            "recommended": next((r for r in rows if r["status"] == "recommended"), None),
            "front": [row for row in rows if row["is_on_front"]],
            "options": [row for row in rows if row["status"] == "option"],
            "excluded": [row for row in rows if row["status"] == "excluded"],
            "savings": [
                {
                    "within_min": one.within_min,
                    "result_id": one.candidate.result_id,
                    "cost": one.cost,
                    "saved": one.saved,
                    "saved_share": one.saved_share,
                }
                for one in self.choice.savings
            ],
            "prediction": asdict(self.prediction) if self.prediction else None,
            "prediction_missing_reason": self.prediction_missing_reason,
            "notes": list(self.notes),
        }

    def _row(self, judged: Judged) -> tuple[Any, ...]:
        one, cost = judged.candidate, self.choice.cost
        price = cost.price(one.accelerator)
        minutes = (one.accelerator_count or 0) * (one.score_min or 0.0)
        return (
            judged.status, judged.kind, judged.reason, self.benchmark, one.round_id,
            one.submitter, one.system_name, one.accelerator, one.accelerator_count, one.score_min,
            minutes or None, judged.cost, cost.unit if judged.cost is not None else None,
            price.basis if price else None, price.on if price else None, judged.is_on_front,
            judged.is_tie, one.availability, one.is_on_premises, one.division, one.result_id,
        )  # fmt: skip


COLUMNS = {
    "status": "VARCHAR", "excluded_by": "VARCHAR", "reason": "VARCHAR", "benchmark": "VARCHAR",
    "round_id": "VARCHAR", "submitter": "VARCHAR", "system_name": "VARCHAR",
    "accelerator": "VARCHAR", "accelerator_count": "BIGINT", "score_min": "DOUBLE",
    "accelerator_minutes": "DOUBLE", "cost": "DOUBLE", "cost_unit": "VARCHAR",
    "price_basis": "VARCHAR", "price_date": "DATE", "is_on_front": "BOOLEAN",
    "is_tie": "BOOLEAN", "availability": "VARCHAR", "is_on_premises": "BOOLEAN",
    "division": "VARCHAR", "result_id": "VARCHAR",
}  # fmt: skip


def limits_of(
    within: str | float | None = None,
    max_accelerators: int | None = None,
    budget: float | None = None,
    availability: str | None = None,
    site: str | None = None,
    division: str | None = "closed",
) -> Limits:
    """Limits as people write them.

    Raises:
        ChoiceError: a word or a length of time that is none.
    """
    for name, word, known in (
        ("availability", availability, AVAILABILITIES),
        ("site", site, ("on_premises", "cloud")),
        ("division", division, DIVISIONS),
    ):
        if word is not None and word not in known:
            hint = reading.nearest(word, known)
            told = f"; {hint}" if hint.startswith("did") else ""
            raise ChoiceError(f"{name} is {' or '.join(known)}, not {word!r}{told}")
    return Limits(
        within_min=parse_minutes(within) if isinstance(within, str) else within,
        max_accelerators=max_accelerators,
        budget=budget,
        availability=availability,
        is_on_premises=None if site is None else site == "on_premises",
        division=division,
    )


def cost_of(
    lambda_chips: float | None = None,
    prices: str | Path | None = None,
    minute_value: float | None = None,
) -> Cost:
    """Accelerator-minutes, plus lambda a minute; or money by a price list, plus its minute's value.

    Raises:
        ChoiceError: one unit's setting beside the other's.
        PriceError: the price list cannot be used.
    """
    table = None if prices is None else read_prices(Path(prices))
    return Cost(lambda_chips or 0.0, minute_value or 0.0, table)


def choose(
    benchmark: str,
    *,
    within: str | float | None = None,
    max_accelerators: int | None = None,
    budget: float | None = None,
    availability: str | None = None,
    site: str | None = None,
    division: str | None = "closed",
    round_id: str | None = None,
    lambda_chips: float | None = None,
    prices: str | Path | None = None,
    minute_value: float | None = None,
    home: str | Path | None = None,
) -> Chosen:
    """The configuration that costs least inside the limits, and why each other is not it.

    Args:
        benchmark: for example llama2_70b_lora.
        within: deadline: ``30min``, ``2h``, or minutes.
        max_accelerators: largest system.
        budget: most that it may cost, in accelerator-minutes or the currency of the prices.
        availability: available, preview or research; None: all.
        site: on_premises or cloud; None: both.
        division: closed or open; None: both.
        round_id: one round; None: all rounds of the benchmark's newest comparable span.
        lambda_chips: what a minute of waiting costs, in chips (default 0: the deadline says it).
        prices: CSV of rental prices; costs are then money (see gpurank.method.prices).
        minute_value: what a minute of waiting costs, in money.
        home: the data folder.

    Raises:
        ChoiceError, PriceError: a limit, cost or price list that cannot be used.
        NoData: no warehouse, benchmark or round.
    """
    limits = limits_of(within, max_accelerators, budget, availability, site, division)
    cost = cost_of(lambda_chips, prices, minute_value)
    con = reading.open_warehouse(load(home=home).warehouse_path)
    try:
        return choose_from(con, benchmark, round_id, limits, cost)
    finally:
        con.close()


def choose_from(
    con: DuckDBPyConnection, benchmark: str, round_id: str | None, limits: Limits, cost: Cost
) -> Chosen:
    """Choose among a round's results of a benchmark, or among all rounds of its newest span.

    Raises:
        NoData: no such benchmark or round.
    """
    reading.require_benchmark(con, benchmark)
    rounds = rounds_of(con, benchmark, round_id)
    choice = decide(candidates_of(con, benchmark, rounds), limits, cost)
    prediction, reason = None, None
    if not choice.options:
        prediction, reason = predict(con, benchmark, choice)
    return Chosen(benchmark, rounds, choice, prediction, reason, notes_of(con, benchmark, rounds))
