"""The command that sets two results against each other, where that is allowed."""

from __future__ import annotations

from typing import Annotated

import typer

from gpurank.answers import comparison, explain
from gpurank.cli.explore import Form, Output, notes_of, warehouse
from gpurank.cli.output.answer import Format, show
from gpurank.cli.output.completion import benchmarks, results_or_rounds

_SHOWN = {
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


def compare(
    first: Annotated[
        str,
        typer.Argument(
            metavar="RESULT_A",
            help="A result id; with -b, a round.",
            autocompletion=results_or_rounds,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="RESULT_B", help="Another one.", autocompletion=results_or_rounds),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            "-b",
            help="Compare the first of two rounds' rankings.",
            autocompletion=benchmarks,
        ),
    ] = None,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Score, accelerator-minutes, speed-up and efficiency of the second result against the first.

    Refused, with the reason, where the two may not be compared; a soft break is warned of.

    Example: gpurank compare v3.0/xFusion/G5500V7x8xL40/resnet v4.0/Oracle/8xBM.GPU.H100.8/resnet
    Example: gpurank compare v3.0 v4.0 --benchmark resnet
    """
    with warehouse() as con:
        if benchmark is not None:
            comparison.check(con, benchmark, first, second)
            first = explain.result_at_rank(con, benchmark, first, 1)
            second = explain.result_at_rank(con, benchmark, second, 1)
        found = comparison.compare(con, first, second)
        rounds = sorted(set(found.results.column("round_id")))
        foot = notes_of(con, found.benchmark, None, rounds, found.results.column("division"))
    basis = (
        "speed-up = minutes of the first over its own; efficiency = accelerator-minutes of the "
        "first over its own (both derived, not official metrics)."
    )
    told = [*(f"Warning: {text}." for text in found.warnings), *(f"{n}." for n in found.notes)]
    show(found.results, form, output, (*told, basis, *foot), _SHOWN)
