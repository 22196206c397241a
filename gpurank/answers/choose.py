"""Answers ``choose``: the best configuration within limits, with everything it was chosen from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers import warehouse as reading
from gpurank.answers.candidates import (
    PredictedSystem,
    predict_system,
    read_candidates,
    read_soft_breaks,
    select_rounds,
)
from gpurank.answers.warehouse import Answer, NoData
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
    """A choice with the rounds it was made from.

    If no submitted system is within the limits there is a ``prediction``, or
    ``prediction_missing_reason``.
    """

    benchmark: str
    rounds: tuple[str, ...]
    choice: Choice
    prediction: PredictedSystem | None
    prediction_missing_reason: str | None
    notes: tuple[str, ...] = ()

    def answer(self) -> Answer:
        """Returns one row per candidate, in the order of the choice."""
        rows = tuple(tuple(self._row(judged).values()) for judged in self.choice.rows)
        return Answer(tuple(COLUMNS), rows, tuple(COLUMNS.values()))

    def frame(self) -> pl.DataFrame:
        """Returns ``answer`` as a polars frame."""
        return self.answer().frame()

    def as_dict(self) -> dict[str, Any]:
        """Returns everything as plain values, for JSON."""
        rows = self.answer().dicts()
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
                    "within_min": saving.within_min,
                    "result_id": saving.candidate.result_id,
                    "cost": saving.cost,
                    "saved": saving.saved,
                    "saved_share": saving.saved_share,
                }
                for saving in self.choice.savings
            ],
            "prediction": asdict(self.prediction) if self.prediction else None,
            "prediction_missing_reason": self.prediction_missing_reason,
            "notes": list(self.notes),
        }

    def _row(self, judged: Judged) -> dict[str, Any]:
        """Returns the values of COLUMNS, in their order."""
        candidate, cost = judged.candidate, self.choice.cost
        price = cost.price(candidate.accelerator)
        minutes = (candidate.accelerator_count or 0) * (candidate.score_min or 0.0)
        values = {
            "status": judged.status,
            "excluded_by": judged.kind,
            "reason": judged.reason,
            "benchmark": self.benchmark,
            "accelerator_minutes": minutes or None,
            "cost": judged.cost,
            "cost_unit": cost.unit if judged.cost is not None else None,
            "price_basis": price.basis if price else None,
            "price_date": price.on if price else None,
            "is_on_front": judged.is_on_front,
            "is_tie": judged.is_tie,
        }
        return {
            name: values[name] if name in values else getattr(candidate, name) for name in COLUMNS
        }


# Columns of a choice, with their SQL types.
COLUMNS = {
    "status": "VARCHAR",
    "excluded_by": "VARCHAR",
    "reason": "VARCHAR",
    "benchmark": "VARCHAR",
    "round_id": "VARCHAR",
    "submitter": "VARCHAR",
    "system_name": "VARCHAR",
    "accelerator": "VARCHAR",
    "accelerator_count": "BIGINT",
    "score_min": "DOUBLE",
    "accelerator_minutes": "DOUBLE",
    "cost": "DOUBLE",
    "cost_unit": "VARCHAR",
    "price_basis": "VARCHAR",
    "price_date": "DATE",
    "is_on_front": "BOOLEAN",
    "is_tie": "BOOLEAN",
    "availability": "VARCHAR",
    "is_on_premises": "BOOLEAN",
    "division": "VARCHAR",
    "result_id": "VARCHAR",
}


def limits_of(
    within: str | float | None = None,
    max_accelerators: int | None = None,
    budget: float | None = None,
    availability: str | None = None,
    site: str | None = None,
    division: str | None = "closed",
) -> Limits:
    """Returns limits from the words that users write.

    Raises:
        ChoiceError: a word or a duration that is not known.
    """
    for name, word, words in (
        ("availability", availability, AVAILABILITIES),
        ("site", site, ("on_premises", "cloud")),
        ("division", division, DIVISIONS),
    ):
        if word is not None and word not in words:
            nearest = reading.nearest(word, words)
            hint = f"; {nearest}" if nearest.startswith("did") else ""
            raise ChoiceError(f"{name} is {' or '.join(words)}, not {word!r}{hint}")
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
    """Returns how costs are computed: in chip-minutes with lambda, or in money with a price list.

    Raises:
        ChoiceError: settings of both units are given.
        PriceError: the price list cannot be used.
    """
    price_list = None if prices is None else read_prices(Path(prices))
    return Cost(lambda_chips or 0.0, minute_value or 0.0, price_list)


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
    """Returns the cheapest configuration within the limits, and why each other was not chosen.

    Args:
        benchmark: for example llama2_70b_lora.
        within: deadline: ``30min``, ``2h``, or minutes.
        max_accelerators: largest system.
        budget: most that it may cost, in accelerator-minutes or the currency of the prices.
        availability: available, preview or research; None: all.
        site: on_premises or cloud; None: both.
        division: closed or open; None: both.
        round_id: one round; None: all rounds of the benchmark's newest comparable span.
        lambda_chips: what a minute of waiting costs, in chips (default 0: only a deadline counts).
        prices: CSV of rental prices; costs are then money (see gpurank.method.prices).
        minute_value: what a minute of waiting costs, in money.
        home: the data folder.

    Raises:
        ChoiceError, PriceError: a limit, cost or price list that cannot be used.
        NoData: no warehouse, benchmark or round.
    """
    limits = limits_of(within, max_accelerators, budget, availability, site, division)
    cost = cost_of(lambda_chips, prices, minute_value)
    with reading.open_warehouse(load(home=home).warehouse_path) as con:
        return choose_from(con, benchmark, round_id, limits, cost)


def choose_from(
    con: DuckDBPyConnection, benchmark: str, round_id: str | None, limits: Limits, cost: Cost
) -> Chosen:
    """Chooses among a benchmark's results of a round, or of all rounds of its newest span.

    Raises:
        NoData: no such benchmark or round.
    """
    reading.require_benchmark(con, benchmark)
    rounds = select_rounds(con, benchmark, round_id)
    choice = decide(read_candidates(con, benchmark, rounds), limits, cost)
    prediction, reason = None, None
    if not choice.options:
        try:
            prediction = predict_system(con, benchmark, choice)
        except NoData as error:
            reason = str(error)
    notes = read_soft_breaks(con, benchmark, rounds)
    return Chosen(benchmark, rounds, choice, prediction, reason, notes)
