"""The command that chooses a configuration inside limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpurank.cli.explore import Benchmark, Form, Output, Round
from gpurank.cli.output.answer import Format, into, show, tell, write_json
from gpurank.settings import load
from gpurank.terminal_safety import say

if TYPE_CHECKING:
    from gpurank.answers.choose import Chosen
    from gpurank.answers.warehouse import Answer
    from gpurank.method.choice import Candidate

Within = Annotated[str | None, typer.Option(help="Deadline: 30min, 2h, 1h30m, 90s.")]
MaxAccelerators = Annotated[
    int | None, typer.Option("--max-accelerators", help="Largest system.", min=1)
]
Budget = Annotated[
    float | None,
    typer.Option(help="Most that it may cost: accelerator-minutes, or the prices' currency."),
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
    typer.Option("--lambda", help="What a minute of waiting costs, in chips (default 0)."),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        help="CSV of rental prices: accelerator,provider,region,per_hour,currency,date,source."
    ),
]
MinuteValue = Annotated[
    float | None,
    typer.Option("--minute-value", help="What a minute of waiting costs, in money."),
]

_SHOWN = 15
_OPTIONS = {
    "round_id": "round", "submitter": "submitter", "system_name": "system",
    "accelerator": "accelerator", "accelerator_count": "count", "score_min": "min",
    "cost": "cost", "cost_unit": "unit", "availability": "availability", "reason": "why not first",
}  # fmt: skip
_PRICED = {"price_basis": "price"}
_EXCLUDED = {
    "reason": "excluded because", "round_id": "round", "submitter": "submitter",
    "system_name": "system", "accelerator": "accelerator", "accelerator_count": "count",
    "score_min": "min",
}  # fmt: skip


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
    """The cheapest configuration inside your limits, what else is worth a look, and why not others.

    Example: gpurank choose -b llama2_70b_lora --within 30min --max-accelerators 64
    Example: gpurank choose -b bert --within 1h --cloud --prices prices.csv --minute-value 12
    """
    from gpurank.answers import warehouse as reading
    from gpurank.answers.choose import choose_from, cost_of, limits_of

    if is_all and round_id is not None:
        raise typer.BadParameter("give --round or --all, not both")
    site = None if onprem is None else "on_premises" if onprem else "cloud"
    named = None if division == "any" else division
    limits = limits_of(within, max_accelerators, budget, availability, site, named)
    cost = cost_of(lambda_chips, prices, minute_value)
    con = reading.open_warehouse(load().warehouse_path)
    try:
        found = choose_from(con, benchmark, round_id, limits, cost)
        sources = reading.ask(
            con,
            "select round_id, source_commit, taken_at::varchar from raw.round_version "
            "where list_contains(?, round_id)",
            [list(found.rounds)],
        )
    finally:
        con.close()
    _write(found, form, output, _notes(found, sources))


def _notes(found: Chosen, sources: Answer) -> tuple[str, ...]:
    from gpurank.answers.notes import Source, footnotes

    cost = found.choice.cost
    shown = {row.candidate.division or "unknown" for row in found.choice.options} or {"closed"}
    priced = (
        "Costs are derived: the prices given, each with its date, on times filed in their rounds.",
    )
    return (
        *found.notes,
        *(priced if cost.prices else ()),
        *footnotes(
            found.benchmark, (Source(*row) for row in sources.rows), shown, cost.lambda_chips
        ),
    )


def _write(found: Chosen, form: Format, output: Path | None, notes: tuple[str, ...]) -> None:
    if form is Format.json:
        write_json({**found.as_dict(), "footnotes": list(notes)}, output)
    elif form is Format.table:
        with into(output):
            _text(found, notes)
    else:
        show(found.answer(), form, output, notes)


def _text(found: Chosen, notes: tuple[str, ...]) -> None:
    choice, answer = found.choice, found.answer()
    best = choice.recommended
    where = f"{found.rounds[0]} to {found.rounds[-1]}" if found.rounds[1:] else found.rounds[0]
    if best is None:
        say(f"{found.benchmark}, {where}: no filed system keeps these limits.")
    else:
        one = best.candidate
        say(
            f"{found.benchmark}, {where}: {_system(one)} ({one.round_id}), "
            f"{one.accelerator_count} x {one.accelerator}: {one.score_min:,.2f} min, "
            f"{best.cost:,.1f} {choice.cost.unit} (derived)"
        )
        ties = sum(row.is_tie for row in choice.options)
        if ties:
            say(f"Run noise alone cannot part it from {ties} other option(s).")
    heads = {**_OPTIONS, **(_PRICED if choice.cost.prices else {})}
    front = _some(answer, "is_on_front", [True], "options on the front: faster costs more")
    if front.rows:
        show(front, Format.table, None, (), heads)
    rest = len(choice.options) - len(front.rows)
    if rest:
        say(f"{rest} other option(s) stand behind these; --format csv gives each with its reason.")
    _outlook(found)
    excluded = _some(answer, "status", ["excluded"], "excluded")
    kinds = Counter(excluded.column("excluded_by"))
    if excluded.rows:
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        title = f"{len(excluded.rows)} excluded ({counts})"
        cut = replace(excluded, rows=excluded.rows[:_SHOWN], title=title)
        more = len(excluded.rows) - len(cut.rows)
        hint = (f"{more} more with their reasons: --format csv",) if more else ()
        show(cut, Format.table, None, hint, _EXCLUDED)
    tell(notes)


def _system(one: Candidate) -> str:
    from gpurank.pages.report.words import system_of

    return system_of({"submitter": one.submitter, "system_name": one.system_name})


def _outlook(found: Chosen) -> None:
    """What a longer deadline saves; where nothing fits, what is predicted to."""
    unit = found.choice.cost.unit
    for saving in found.choice.savings:
        one = saving.candidate
        say(
            f"With {saving.within_min:,.2f} min allowed, {_system(one)} "
            f"({one.accelerator_count} x {one.accelerator}, {one.round_id}) saves "
            f"{saving.saved:,.1f} {unit} ({saving.saved_share:.1%})."
        )
    if found.prediction is not None:
        guess = found.prediction
        interval = (
            "interval unknown: too few were filed"
            if guess.score_low_min is None
            else f"90 % {guess.score_low_min:,.2f} to {guess.score_high_min:,.2f}"
        )
        doubts = [
            *(["outside the counts filed with it"] if guess.is_extrapolated else []),
            *([] if guess.is_likely else ["the deadline lies inside the interval"]),
        ]
        say(
            f"Predicted ({guess.label}): {guess.accelerator_count} x {guess.accelerator} with the "
            f"software of {guess.software_round_id}: {guess.score_min:,.2f} min ({interval}), "
            f"{guess.cost:,.1f} {unit}" + (f"; {'; '.join(doubts)}" if doubts else "")
        )
    elif found.prediction_missing_reason:
        say(f"No prediction: {found.prediction_missing_reason}.")


def _some(answer: Answer, column: str, values: list[object], title: str) -> Answer:
    place = answer.columns.index(column)
    rows = tuple(row for row in answer.rows if row[place] in values)
    return replace(answer, rows=rows, title=title)
