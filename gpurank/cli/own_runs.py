"""The command that holds a person's own runs against the published results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpurank.cli.explore import Form, Output, Round, notes_of, warehouse
from gpurank.cli.output.answer import Format, into, show, tell, write_json
from gpurank.cli.output.completion import accelerators as accelerator_names
from gpurank.cli.output.completion import benchmarks
from gpurank.terminal_safety import say

if TYPE_CHECKING:
    from gpurank.answers.own_runs import OwnResult, OwnRun
    from gpurank.answers.placing import Mine

_BESIDE = {
    "target": "held against", "submitter": "submitter", "system_name": "system",
    "accelerator": "accelerator", "accelerator_count": "count", "score_min": "min",
    "accelerator_minutes": "acc.-min", "delay_cost": "delay cost",
    "needed_min": "min needed to equal", "needed_speedup": "speed-up needed",
}  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(mine)


def mine(
    logdir: Annotated[Path, typer.Argument(help="Folder of run logs (:::MLLOG lines).")],
    accelerators: Annotated[int, typer.Option(help="How many the runs used.", min=1)],
    accelerator: Annotated[
        str,
        typer.Option(help="Which, for example 'H100 SXM5 80GB'.", autocompletion=accelerator_names),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            "-b",
            help="Only where the logs do not name it.",
            autocompletion=benchmarks,
        ),
    ] = None,
    round_id: Round = None,
    lambda_chips: Annotated[
        float,
        typer.Option("--lambda", help="What a minute of waiting is worth, in chips.", min=0.001),
    ] = 8.0,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Score your own runs by the published rules and hold them against published results.

    Example: gpurank mine logs/ --accelerators 16 --accelerator "H100 SXM5 80GB"
    """
    from gpurank.answers.placing import mine as place

    found = place(
        logdir,
        accelerators,
        accelerator,
        benchmark=benchmark,
        round_id=round_id,
        lambda_chips=lambda_chips,
    )
    notes = _notes(found)
    if form is Format.json:
        write_json({**found.as_dict(), "footnotes": list(notes)}, output)
    elif form is Format.table:
        with into(output):
            _text(found)
            tell(notes)
    else:
        show(found.answer(), form, output, notes)


def _notes(found: Mine) -> tuple[str, ...]:
    result = found.result
    with warehouse() as con:
        published = notes_of(
            con, result.benchmark, None, [result.round_id], lambda_chips=found.lambda_chips
        )
    return (*result.notes, f"{found.label}; published results it is held against:", *published)


def _text(found: Mine) -> None:
    result = found.result
    say(
        f"{result.benchmark}, {found.label}: {found.accelerator_count} x {found.accelerator}, "
        f"scored by the rule of {result.round_id}"
    )
    _runs(result)
    if result.score_min is None:
        say(f"No score: {result.score_missing_reason}. The rule asks for "
              f"{result.required_run_count} runs.")  # fmt: skip
    else:
        say(
            f"score {result.score_min:,.3f} min, {found.accelerator_minutes:,.1f} "
            f"accelerator-minutes, delay cost {found.delay_cost:,.1f} (derived): would stand at "
            f"{found.would_rank} beside the {found.list_count} of {result.round_id}"
        )
        if found.cluster_label is not None:
            say(f"nearest cluster: {found.cluster_label}, {found.cluster_name}")
        if found.cluster_note:
            say(f"  {found.cluster_note}")
        if found.fleet_efficiency is not None:
            say(f"fleet efficiency at {found.accelerator_count}: {found.fleet_efficiency:.2f} "
                  "of that at 8")  # fmt: skip
        if found.expected_min is not None and found.expected_ratio is not None:
            say(
                f"published systems of this kind take {found.expected_min:,.2f} min by the fleet "
                f"law (derived prediction); yours is {found.expected_ratio:.2f} times that"
            )
        if found.beside:
            show(found.answer(), Format.table, None, (), _BESIDE)


def _runs(result: OwnResult) -> None:
    for run in result.runs:
        time = "no time" if run.run_min is None else f"{run.run_min:,.3f} min"
        say(f"  {run.file}: {time}, {_told(run, result)}")
    if result.ignored:
        names = ", ".join(result.ignored[:5])
        more = len(result.ignored) - 5
        say(f"  not run logs: {names}" + (f" and {more} more" if more > 0 else ""))


def _told(run: OwnRun, result: OwnResult) -> str:
    if run.copy_of:
        return f"same run as {run.copy_of}, not counted"
    if not run.is_converged:
        return f"not converged ({run.convergence_basis})"
    if result.score_min is None:
        return "converged"
    return "kept" if run.is_kept else "dropped"
