"""The command that compares a person's own runs with the published results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpurank.answers.notes import footnotes_of
from gpurank.cli.options import Form, Output, Round, warehouse
from gpurank.cli.output.answer import Format, print_footnotes, redirect_to, show, write_json
from gpurank.cli.output.completion import accelerators as accelerator_names
from gpurank.cli.output.completion import benchmarks
from gpurank.settings import DEFAULT_LAMBDA
from gpurank.terminal_safety import say

if TYPE_CHECKING:
    from gpurank.answers.own_runs import OwnResult, OwnRun
    from gpurank.answers.placing import Mine

_COLUMNS = {
    "target": "compared with",
    "submitter": "submitter",
    "system_name": "system",
    "accelerator": "accelerator",
    "accelerator_count": "count",
    "score_min": "min",
    "accelerator_minutes": "acc.-min",
    "delay_cost": "delay cost",
    "needed_min": "min needed to equal",
    "needed_speedup": "speed-up needed",
}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(mine)


def mine(
    logdir: Annotated[Path, typer.Argument(help="Folder of run logs (:::MLLOG lines).")],
    accelerators: Annotated[int, typer.Option(help="Number that the runs used.", min=1)],
    accelerator: Annotated[
        str,
        typer.Option(
            help="Their model, for example 'H100 SXM5 80GB'.", autocompletion=accelerator_names
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            "-b",
            help="Only if the logs do not name it.",
            autocompletion=benchmarks,
        ),
    ] = None,
    round_id: Round = None,
    lambda_chips: Annotated[
        float,
        typer.Option("--lambda", help="Value of a minute of waiting, in chips.", min=0.001),
    ] = DEFAULT_LAMBDA,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Score your own runs by the published rules and compare them with the published results.

    Example: gpurank mine logs/ --accelerators 16 --accelerator "H100 SXM5 80GB"
    """
    from gpurank.answers.placing import mine as compare_own_runs  # imports msgspec

    own = compare_own_runs(
        logdir,
        accelerators,
        accelerator,
        benchmark=benchmark,
        round_id=round_id,
        lambda_chips=lambda_chips,
    )
    notes = _notes(own)
    if form is Format.json:
        write_json({**own.as_dict(), "footnotes": list(notes)}, output)
    elif form is Format.table:
        with redirect_to(output):
            print_own_result(own)
            print_footnotes(notes)
    else:
        show(own.answer(), form, output, notes)


def print_own_result(own: Mine) -> None:
    """Print each run, the score, and how it compares with the published results."""
    result = own.result
    say(
        f"{result.benchmark}, {own.label}: {own.accelerator_count} x {own.accelerator}, "
        f"scored by the rule of {result.round_id}"
    )
    _print_runs(result)
    if result.score_min is None:
        say(
            f"No score: {result.score_missing_reason}. The rule requires "
            f"{result.required_run_count} runs."
        )
        return
    say(
        f"score {result.score_min:,.3f} min, {own.accelerator_minutes:,.1f} "
        f"accelerator-minutes, delay cost {own.delay_cost:,.1f} (derived): would rank "
        f"{own.would_rank} beside the {own.list_count} of {result.round_id}"
    )
    if own.cluster_label is not None:
        say(f"nearest cluster: {own.cluster_label}, {own.cluster_name}")
    if own.cluster_note:
        say(f"  {own.cluster_note}")
    if own.fleet_efficiency is not None:
        say(f"fleet efficiency at {own.accelerator_count}: {own.fleet_efficiency:.2f} of that at 8")
    if own.expected_min is not None and own.expected_ratio is not None:
        say(
            f"published systems of this kind take {own.expected_min:,.2f} min by the fleet "
            f"law (derived prediction); yours takes {own.expected_ratio:.2f} times that"
        )
    if own.beside:
        show(own.answer(), Format.table, columns=_COLUMNS)


def _notes(own: Mine) -> tuple[str, ...]:
    result = own.result
    with warehouse() as connection:
        published = footnotes_of(
            connection,
            result.benchmark,
            round_ids=[result.round_id],
            lambda_chips=own.lambda_chips,
        )
    return (*result.notes, f"{own.label}; published results it is compared with:", *published)


def _print_runs(result: OwnResult) -> None:
    for run in result.runs:
        minutes = "no time" if run.run_min is None else f"{run.run_min:,.3f} min"
        say(f"  {run.file}: {minutes}, {_use(run, result)}")
    if result.ignored:
        names = ", ".join(result.ignored[:5])
        hidden_count = len(result.ignored) - 5
        more = f" and {hidden_count} more" if hidden_count > 0 else ""
        say(f"  not run logs: {names}{more}")


def _use(run: OwnRun, result: OwnResult) -> str:
    """Returns how a run counts towards the score, in words."""
    if run.copy_of:
        return f"same run as {run.copy_of}, not counted"
    if not run.is_converged:
        return f"not converged ({run.convergence_basis})"
    if result.score_min is None:
        return "converged"
    return "kept" if run.is_kept else "dropped"
