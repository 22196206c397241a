"""The command that chooses a configuration within limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpurank.answers.notes import footnotes_of
from gpurank.answers.warehouse import Answer
from gpurank.cli.options import Benchmark, Form, Output, Round, warehouse
from gpurank.cli.output.answer import Format, print_footnotes, redirect_to, show, write_json
from gpurank.pages.report.words import system_of
from gpurank.terminal_safety import say

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from gpurank.answers.choose import Chosen
    from gpurank.method.choice import Candidate

Within = Annotated[str | None, typer.Option(help="Deadline: 30min, 2h, 1h30m, 90s.")]
MaxAccelerators = Annotated[
    int | None, typer.Option("--max-accelerators", help="Largest system.", min=1)
]
Budget = Annotated[
    float | None,
    typer.Option(help="Highest cost, in accelerator-minutes or in the currency of --prices."),
]
Availability = Annotated[
    str | None, typer.Option(help="available, preview or research; default: all.")
]
Site = Annotated[
    bool | None, typer.Option("--onprem/--cloud", help="Only one of the two; default: both.")
]
Division = Annotated[str, typer.Option(help="closed, open or any.")]
AllRounds = Annotated[
    bool, typer.Option("--all", help="All rounds of the newest comparable span (default).")
]
Lambda = Annotated[
    float | None,
    typer.Option("--lambda", help="Cost of a minute of waiting, in chips (default 0)."),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        help="CSV of rental prices: accelerator, provider, region, per_hour, currency, "
        "date, source."
    ),
]
MinuteValue = Annotated[
    float | None,
    typer.Option("--minute-value", help="Cost of a minute of waiting, in money."),
]

# How many excluded results a table shows.
_EXCLUDED_LIMIT = 15
_OPTION_COLUMNS = {
    "round_id": "round",
    "submitter": "submitter",
    "system_name": "system",
    "accelerator": "accelerator",
    "accelerator_count": "count",
    "score_min": "min",
    "cost": "cost",
    "cost_unit": "unit",
    "availability": "availability",
    "reason": "why not first",
}
_PRICE_COLUMNS = {"price_basis": "price"}
_EXCLUDED_COLUMNS = {
    "reason": "excluded because",
    "round_id": "round",
    "submitter": "submitter",
    "system_name": "system",
    "accelerator": "accelerator",
    "accelerator_count": "count",
    "score_min": "min",
}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(choose)


def choose(
    benchmark: Benchmark,
    within: Within = None,
    max_accelerators: MaxAccelerators = None,
    budget: Budget = None,
    availability: Availability = None,
    onprem: Site = None,
    division: Division = "closed",
    round_id: Round = None,
    is_all: AllRounds = False,
    lambda_chips: Lambda = None,
    prices: Prices = None,
    minute_value: MinuteValue = None,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Find the cheapest configuration within your limits, its alternatives, and why not others.

    Example: gpurank choose -b llama2_70b_lora --within 30min --max-accelerators 64
    Example: gpurank choose -b bert --within 1h --cloud --prices prices.csv --minute-value 12
    """
    # Imported here since it is slow to load and every other command does without it.
    from gpurank.answers.choose import choose_from, cost_of, limits_of

    if is_all and round_id is not None:
        raise typer.BadParameter("give --round or --all, not both")
    site = None if onprem is None else "on_premises" if onprem else "cloud"
    limits = limits_of(
        within,
        max_accelerators,
        budget,
        availability,
        site,
        None if division == "any" else division,
    )
    cost = cost_of(lambda_chips, prices, minute_value)
    with warehouse() as connection:
        chosen = choose_from(connection, benchmark, round_id, limits, cost)
        notes = _notes(chosen, connection)
    write_choice(chosen, form, output, notes)


def write_choice(chosen: Chosen, form: Format, output: Path | None, notes: tuple[str, ...]) -> None:
    """Write a choice to a file or stdout."""
    if form is Format.json:
        write_json({**chosen.as_dict(), "footnotes": list(notes)}, output)
    elif form is Format.table:
        with redirect_to(output):
            _print_recommendation(chosen)
            _print_options(chosen)
            _print_savings(chosen)
            _print_prediction(chosen)
            _print_excluded(chosen)
            print_footnotes(notes)
    else:
        show(chosen.answer(), form, output, notes)


def _notes(chosen: Chosen, connection: DuckDBPyConnection) -> tuple[str, ...]:
    cost = chosen.choice.cost
    divisions = {option.candidate.division or "unknown" for option in chosen.choice.options}
    price_note = (
        "Costs are derived: the prices given, each with its date, times the published minutes."
    )
    return (
        *chosen.notes,
        *([price_note] if cost.prices else []),
        *footnotes_of(
            connection,
            chosen.benchmark,
            divisions or {"closed"},
            chosen.rounds,
            cost.lambda_chips,
        ),
    )


def _print_recommendation(chosen: Chosen) -> None:
    rounds = chosen.rounds
    subject = (
        f"{chosen.benchmark}, {rounds[0]} to {rounds[-1]}"
        if len(rounds) > 1
        else f"{chosen.benchmark}, {rounds[0]}"
    )
    choice = chosen.choice
    if choice.recommended is None:
        say(f"{subject}: no published system is within these limits.")
        return
    best = choice.recommended.candidate
    say(
        f"{subject}: {_system(best)} ({best.round_id}), "
        f"{best.accelerator_count} x {best.accelerator}: {best.score_min:,.2f} min, "
        f"{choice.recommended.cost:,.1f} {choice.cost.unit} (derived)"
    )
    tie_count = sum(option.is_tie for option in choice.options)
    if tie_count:
        say(f"Tied within run-to-run noise with {tie_count} other option(s).")


def _print_options(chosen: Chosen) -> None:
    choice = chosen.choice
    columns = {**_OPTION_COLUMNS, **(_PRICE_COLUMNS if choice.cost.prices else {})}
    front = _with_value(
        chosen.answer(), "is_on_front", True, "options on the Pareto front: faster costs more"
    )
    if front.rows:
        show(front, Format.table, columns=columns)
    other_count = len(choice.options) - len(front.rows)
    if other_count:
        say(
            f"{other_count} other option(s) are dominated by one of these; "
            "--format csv lists each with its reason."
        )


def _print_savings(chosen: Chosen) -> None:
    """What a longer deadline saves."""
    for saving in chosen.choice.savings:
        candidate = saving.candidate
        say(
            f"With {saving.within_min:,.2f} min allowed, {_system(candidate)} "
            f"({candidate.accelerator_count} x {candidate.accelerator}, {candidate.round_id}) "
            f"saves {saving.saved:,.1f} {chosen.choice.cost.unit} ({saving.saved_share:.1%})."
        )


def _print_prediction(chosen: Chosen) -> None:
    """What is predicted to be within the limits where no published system is."""
    prediction = chosen.prediction
    if prediction is None:
        if chosen.prediction_missing_reason:
            say(f"No prediction: {chosen.prediction_missing_reason}.")
        return
    if prediction.score_low_min is None:
        interval = "interval unknown: too few results"
    else:
        interval = f"90 % {prediction.score_low_min:,.2f} to {prediction.score_high_min:,.2f}"
    doubts = []
    if prediction.is_extrapolated:
        doubts.append("outside the counts published with it")
    if not prediction.is_likely:
        doubts.append("the deadline lies inside the interval")
    say(
        f"Predicted ({prediction.label}): {prediction.accelerator_count} x "
        f"{prediction.accelerator} with the software of {prediction.software_round_id}: "
        f"{prediction.score_min:,.2f} min ({interval}), "
        f"{prediction.cost:,.1f} {chosen.choice.cost.unit}" + "".join(f"; {d}" for d in doubts)
    )


def _print_excluded(chosen: Chosen) -> None:
    excluded = _with_value(chosen.answer(), "status", "excluded", "excluded")
    if not excluded.rows:
        return
    counts = sorted(Counter(excluded.column("excluded_by")).items())
    counts_text = ", ".join(f"{limit} {count}" for limit, count in counts)
    shown = replace(
        excluded,
        rows=excluded.rows[:_EXCLUDED_LIMIT],
        title=f"{len(excluded.rows)} excluded ({counts_text})",
    )
    hidden_count = len(excluded.rows) - len(shown.rows)
    notes = [f"{hidden_count} more with their reasons: --format csv"] if hidden_count else []
    show(shown, Format.table, notes=notes, columns=_EXCLUDED_COLUMNS)


def _system(candidate: Candidate) -> str:
    return system_of({"submitter": candidate.submitter, "system_name": candidate.system_name})


def _with_value(answer: Answer, column: str, value: object, title: str) -> Answer:
    """Returns the rows that have a value in a column, under another title."""
    position = answer.columns.index(column)
    rows = tuple(row for row in answer.rows if row[position] == value)
    return replace(answer, rows=rows, title=title)
