"""Commands that ask the warehouse: top, clusters, why, query."""

from __future__ import annotations

from typing import Annotated

import typer

from gpurank.answers import explain
from gpurank.answers import warehouse as reading
from gpurank.answers.notes import footnotes_of
from gpurank.answers.warehouse import Answer, QueryError
from gpurank.cli.options import (
    AsOf,
    Benchmark,
    Form,
    Output,
    Round,
    footnotes_of_ranking,
    warehouse,
)
from gpurank.cli.output.answer import (
    Format,
    print_footnotes,
    redirect_to,
    show,
    write_json,
    write_parquet,
)
from gpurank.cli.output.completion import benchmarks, result_ids
from gpurank.operations.freshness import footnotes as freshness_notes
from gpurank.operations.freshness import freshness_of_warehouse
from gpurank.pages.report.words import describe_stability
from gpurank.settings import load
from gpurank.terminal_safety import say

_RANKING_COLUMNS = {
    "rank": "rank",
    "tie_group": "tie",
    "round_id": "round",
    "published_on": "published on",
    "submitter": "submitter",
    "system_name": "system",
    "accelerator": "accelerator",
    "accelerator_count": "count",
    "score_min": "min",
    "accelerator_minutes": "acc.-min",
    "delay_cost": "delay cost",
    "cluster_label": "cluster",
    "availability": "availability",
    "refiled_from": "refiled from",
}
# The first columns to go on a narrow terminal; accelerator, count and availability stay longest.
_RANKING_DROP = ("cluster", "tie", "acc.-min", "refiled from", "published on")
_CLUSTER_COLUMNS = {
    "cluster_label": "cluster",
    "name": "name",
    "member_count": "results",
    "median_score_min": "median min",
    "median_accelerator_count": "median count",
    "median_accelerator_minutes": "median acc.-min",
    "share_4_to_16": "share with 4-16",
    "leading_families": "leading families",
}
_CLUSTER_DROP = ("leading families", "share with 4-16")


def register(app: typer.Typer) -> None:
    """Add these commands to the application."""
    for command in (top, clusters, why, query):
        app.command()(command)


def top(
    benchmark: Benchmark,
    round_id: Round = None,
    pooled: Annotated[bool, typer.Option(help="Rank all comparable rounds together.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Number of rows; 0 for all.", min=0)
    ] = 10,
    as_of: AsOf = None,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Rank the configurations of a benchmark, best first; by default in its newest round.

    Example: gpurank top --benchmark resnet --round v4.0
    Example: gpurank top -b bert --pooled --limit 20 --format csv
    Example: gpurank top -b llama2_70b_lora --round v5.1 --as-of 2025-11-15
    """
    with warehouse(as_of) as connection:
        ranking = reading.ranking(connection, benchmark, round_id, pooled, limit or None)
        notes = [
            *_warnings(ranking),
            *footnotes_of_ranking(connection, benchmark, ranking),
        ]
        if form is Format.table and as_of is None:
            # A ranking of a past date is old by intention.
            notes += freshness_notes(freshness_of_warehouse(connection, load()))
    if form is Format.table:
        in_round = "" if pooled else f" -r {ranking.column('round_id')[0]}"
        notes.append(f"Trace a score to its logs: gpurank why -b {benchmark}{in_round} --rank 1")
    hidden = set() if any(ranking.column("refiled_from")) else {"refiled_from"}
    if not pooled:
        # Every row would have the same date.
        hidden.add("published_on")
    columns = {name: text for name, text in _RANKING_COLUMNS.items() if name not in hidden}
    show(ranking, form, output, notes, columns, _RANKING_DROP)


def clusters(benchmark: Benchmark, form: Form = Format.table, output: Output = None) -> None:
    """Show groups of similar configurations of a benchmark, fastest first.

    Example: gpurank clusters --benchmark resnet
    """
    with warehouse() as connection:
        profiles = reading.clusters(connection, benchmark)
        round_ids = reading.cluster_rounds(connection, benchmark)
        stability = describe_stability([{"jaccard": value} for value in profiles.column("jaccard")])
        notes = [
            *filter(None, [stability]),
            f"In the method's terms: {profiles.column('count_note')[0]}.",
            *footnotes_of(connection, benchmark, round_ids=round_ids),
        ]
    show(profiles, form, output, notes, _CLUSTER_COLUMNS, _CLUSTER_DROP)


def why(
    result_id: Annotated[
        str | None,
        typer.Argument(
            help="A result id, as `gpurank top -f csv` prints it.", autocompletion=result_ids
        ),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark", "-b", help="Instead of a result id.", autocompletion=benchmarks
        ),
    ] = None,
    round_id: Round = None,
    rank: Annotated[int, typer.Option(help="Rank in that round's table.", min=1)] = 1,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Explain a score: its rank, the runs kept and dropped, their log lines and file hashes.

    Example: gpurank why --benchmark resnet --round v4.0 --rank 1
    Example: gpurank why v4.0/NVIDIA/eos_n8/resnet
    """
    with warehouse() as connection:
        if result_id is None:
            if benchmark is None:
                raise typer.BadParameter("give a result id, or --benchmark with --round and --rank")
            result_id = explain.result_at_rank(connection, benchmark, round_id, rank)
        explanation = explain.explain(connection, result_id)
        result = explanation.result
        notes = footnotes_of(
            connection, result["benchmark"], [result["division"]], [result["round_id"]]
        )
    if form is Format.json:
        write_json({**explanation.as_dict(), "footnotes": list(notes)}, output)
    elif form is Format.table:
        with redirect_to(output):
            say("\n".join(explain.text(explanation)))
            print_footnotes(notes)
    else:
        show(explanation.runs, form, output, notes)


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT; docs/tables.md lists the tables.")],
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Query the warehouse in SQL (DuckDB), read-only, without access to files or networks.

    Example: gpurank query "select round_id, count(*) from marts.result group by all order by 1"
    Example: gpurank query "from marts.ranking" --format parquet -o ranking.parquet
    """
    with warehouse() as connection:
        if form is Format.parquet:
            with reading.queried(connection):
                relation = connection.sql(sql)
                table = relation.to_arrow_table() if relation is not None else None
            if table is None:
                raise QueryError("the statement returns no rows; write one SELECT")
            write_parquet(table, output)
        else:
            with reading.queried(connection):
                answer = reading.ask(connection, sql)
            show(answer, form, output)


def _warnings(ranking: Answer) -> list[str]:
    """Returns what a reader of a ranking must know: soft breaks, results filed again."""
    warnings = [
        f"Warning: {text}." for text in dict.fromkeys(ranking.column("comparison_warning")) if text
    ]
    if any(ranking.column("refiled_from")):
        warnings.append(
            "Refiled: the same measurement as in an earlier round; clusters and fits count it once."
        )
    return warnings
