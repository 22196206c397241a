"""The command that compares two results, where the rules allow it."""

from __future__ import annotations

from typing import Annotated

import typer

from gpurank.answers import comparison, explain
from gpurank.answers.notes import footnotes_of
from gpurank.cli.options import Form, Output, warehouse
from gpurank.cli.output.answer import Format, show
from gpurank.cli.output.completion import benchmarks, results_or_rounds

_COLUMNS = {
    "result_id": "result",
    "accelerator": "accelerator",
    "accelerator_count": "count",
    "score_min": "min",
    "accelerator_minutes": "acc.-min",
    "speedup": "speed-up",
    "efficiency": "efficiency",
    "division": "division",
    "availability": "availability",
}
_BASIS = (
    "speed-up = minutes of the first result / minutes of this one; efficiency = "
    "accelerator-minutes of the first / accelerator-minutes of this one (both derived, not "
    "official metrics)."
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(compare)


def compare(
    first: Annotated[
        str,
        typer.Argument(
            metavar="RESULT_A",
            help="A result id; with --benchmark, a round.",
            autocompletion=results_or_rounds,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(
            metavar="RESULT_B",
            help="The result or round to compare with it.",
            autocompletion=results_or_rounds,
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            "-b",
            help="Compare the best result of this benchmark in two rounds.",
            autocompletion=benchmarks,
        ),
    ] = None,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Compare two results: score, accelerator-minutes, speed-up and efficiency.

    Refused, with the reason, where the rules of the rounds differ; a soft break only warns.

    Example: gpurank compare v3.0/xFusion/G5500V7x8xL40/resnet v4.0/Oracle/8xBM.GPU.H100.8/resnet
    Example: gpurank compare v3.0 v4.0 --benchmark resnet
    """
    with warehouse() as connection:
        if benchmark is not None:
            comparison.check(connection, benchmark, first, second)
            first = explain.result_at_rank(connection, benchmark, first, 1)
            second = explain.result_at_rank(connection, benchmark, second, 1)
        compared = comparison.compare(connection, first, second)
        results = compared.results
        notes = [
            *(f"Warning: {warning}." for warning in compared.warnings),
            *(f"{note}." for note in compared.notes),
            _BASIS,
            *footnotes_of(
                connection,
                compared.benchmark,
                results.column("division"),
                results.column("round_id"),
            ),
        ]
    show(results, form, output, notes, _COLUMNS)
