"""Commands that read: rankings, clusters, explanations, queries, state of the data folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.terminal_safety import say
from gpurank.answers import warehouse as reading
from gpurank.answers.notes import Source, footnotes
from gpurank.answers.warehouse import Answer
from gpurank.cli.output.answer import Format, into, show, tell, write_json
from gpurank.cli.output.completion import benchmarks, result_ids, round_names
from gpurank.settings import Settings, load

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Benchmark = Annotated[
    str,
    typer.Option("--benchmark", "-b", help="For example resnet.", autocompletion=benchmarks),
]
OptionalBenchmark = Annotated[
    str | None, typer.Option("--benchmark", "-b", autocompletion=benchmarks)
]
Round = Annotated[
    str | None,
    typer.Option("--round", "-r", help="For example v4.0.", autocompletion=round_names),
]
Form = Annotated[
    Format,
    typer.Option("--format", "-f", help="How rows are written; --json is short for json."),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="DATE", help="Answer with what was known then (UTC)."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File; default stdout.")]

_TOP = {
    "rank": "rank",
    "tie_group": "tie",
    "round_id": "round",
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
# What a narrow terminal does without first; version, count and availability stay longest.
_TOP_DROP = ("cluster", "tie", "acc.-min", "refiled from")
_ROUNDS = {
    "round_id": "round",
    "version_id": "version",
    "form": "form",
    "source_commit": "commit",
    "results": "results",
    "quarantined": "set aside",
    "runs": "runs",
    "issues": "issues",
    "failed_versions": "failed",
    "is_in_warehouse": "published",
}
_CLUSTERS = {
    "cluster_label": "cluster",
    "name": "name",
    "member_count": "results",
    "median_score_min": "median min",
    "median_accelerator_count": "median count",
    "median_accelerator_minutes": "median acc.-min",
    "share_4_to_16": "share with 4-16",
    "leading_families": "leading families",
}
_CLUSTERS_DROP = ("leading families", "share with 4-16")


def register(app: typer.Typer) -> None:
    """Add the reading commands to the application."""
    for command in (top, clusters, why, query, rounds, doctor):
        app.command()(command)


def top(
    benchmark: Benchmark,
    round_id: Round = None,
    pooled: Annotated[bool, typer.Option(help="Rank all comparable rounds together.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Rows; 0 for all.", min=0)] = 10,
    as_of: AsOf = None,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Ranked configurations of a benchmark, best first; by default of its newest round.

    Example: gpurank top --benchmark resnet --round v4.0
    Example: gpurank top -b bert --pooled --limit 20 --format csv
    Example: gpurank top -b llama2_70b_lora --round v5.1 --as-of 2025-11-15
    """
    with warehouse(as_of) as con:
        found = reading.ranking(con, benchmark, round_id, pooled, limit or None)
        notes = notes_of(con, benchmark, found)
    notes = (*_cautions(found), *notes)
    if form is Format.table:
        where = "" if pooled else f" -r {found.column('round_id')[0]}"
        notes = (*notes, f"Walk a number back: gpurank why -b {benchmark}{where} --rank 1")
    has_refiled = any(found.column("refiled_from"))
    shown = {name: head for name, head in _TOP.items() if has_refiled or name != "refiled_from"}
    show(found, form, output, notes, shown, _TOP_DROP)


def clusters(benchmark: Benchmark, form: Form = Format.table, output: Output = None) -> None:
    """Groups of similar configurations of a benchmark, fastest first.

    Example: gpurank clusters --benchmark resnet
    """
    from gpurank.pages.report.words import cluster_firmness

    with warehouse() as con:
        found = reading.clusters(con, benchmark)
        names = reading.cluster_rounds(con, benchmark)
        firm = cluster_firmness([{"jaccard": value} for value in found.column("jaccard")])
        method = f"In the method's terms: {found.column('count_note')[0]}."
        notes = (*filter(None, [firm, method]), *notes_of(con, benchmark, None, names))
    show(found, form, output, notes, _CLUSTERS, _CLUSTERS_DROP)


def why(
    result_id: Annotated[
        str | None,
        typer.Argument(help="As `gpurank top -f csv` gives it.", autocompletion=result_ids),
    ] = None,
    benchmark: OptionalBenchmark = None,
    round_id: Round = None,
    rank: Annotated[int, typer.Option(help="Rank in that round's table.", min=1)] = 1,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Walk a number back: rank, score, the runs kept and dropped, their log lines and hashes.

    Example: gpurank why --benchmark resnet --round v4.0 --rank 1
    Example: gpurank why v4.0/NVIDIA/eos_n8/resnet
    """
    from gpurank.answers import explain

    with warehouse() as con:
        if result_id is None:
            if benchmark is None:
                raise typer.BadParameter("give a result id, or --benchmark with --round and --rank")
            result_id = explain.result_at_rank(con, benchmark, round_id, rank)
        found = explain.explain(con, result_id)
        one = found.result
        notes = notes_of(con, one["benchmark"], None, [one["round_id"]], [one["division"]])
    if form is not Format.table:
        if form is Format.json:
            write_json({**found.as_dict(), "footnotes": list(notes)}, output)
        else:
            show(found.runs, form, output, notes)
        return
    with into(output):
        say("\n".join(explain.text(found)))
        tell(notes)


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT; docs/tables.md lists the tables.")],
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Ask the warehouse in SQL (DuckDB), read-only, without access to files or networks.

    Example: gpurank query "select round_id, count(*) from marts.result group by all order by 1"
    Example: gpurank query "from marts.ranking" --format parquet -o ranking.parquet
    """
    with warehouse() as con:
        if form is Format.parquet:
            from gpurank.cli.output.answer import write_parquet

            with reading.queried(con):
                relation = con.sql(sql)
                table = relation.to_arrow_table() if relation is not None else None
            if table is None:
                raise reading.QueryError("the statement gives no rows; write one SELECT")
            write_parquet(table, output)
        else:
            with reading.queried(con):
                found = reading.ask(con, sql)
            show(found, form, output)


def rounds(form: Form = Format.table, output: Output = None) -> None:
    """Rounds in the data folder: version, commit, results, set aside, whether published.

    Example: gpurank rounds --format json
    """
    from gpurank.operations import health

    found = health.rounds(load())
    found = found.cut("source_commit", 12) if form is Format.table else found
    show(found, form, output, columns=_ROUNDS)


def doctor(
    form: Form = Format.table,
    output: Output = None,
    max_age: Annotated[
        float | None, typer.Option(help="Days since the last watch that are too many.", min=0)
    ] = None,
) -> None:
    """Check the installation and the data folder: versions, space, lock, store, age, warehouse.

    Ends with 7 where something is bad, so that a monitor can call it.

    Example: gpurank doctor
    Example: gpurank doctor --json --max-age 9
    """
    from gpurank.operations import health

    found = health.examine(load(), max_age)
    show(found, form, output)
    if "bad" in found.column("state"):
        raise typer.Exit(7)


@contextmanager
def warehouse(as_of: str | None = None) -> Iterator[DuckDBPyConnection]:
    """A read-only connection to the published warehouse, or to one of what was known then."""
    settings = load()
    _refresh(settings)
    path = settings.warehouse_path
    if as_of is not None:
        from flows.as_of import warehouse_at
        from flows.console import current_console
        from gpurank.store.history import moment

        if not current_console().is_quiet:
            print(f"looking up what was known by {as_of}", file=sys.stderr, flush=True)
        path = warehouse_at(settings, moment(as_of))
    con = reading.open_warehouse(path)
    try:
        yield con
    finally:
        con.close()


def _refresh(settings: Settings) -> None:
    if settings.remote is not None:
        from gpurank.store.remote import refresh

        refresh(settings)


def notes_of(
    con: DuckDBPyConnection,
    benchmark: str,
    table: Answer | None,
    names: Sequence[str] | None = None,
    divisions: Sequence[str | None] = ("closed",),
    lambda_chips: float | None = None,
) -> tuple[str, ...]:
    """Footnotes of what is shown: its rounds, divisions and the λ it was ranked with.

    A ranking tells all three itself; else ``names`` are the rounds, and λ is the warehouse's.
    """
    if table is not None:
        names = sorted(set(table.column("round_id")))
        divisions = table.column("division")
        lambda_chips = table.column("lambda_chips")[0]
    if lambda_chips is None:
        known = reading.ask(con, "select max(lambda_chips) as chips from marts.ranking")
        lambda_chips = known.column("chips")[0] or 8.0
    sources = reading.ask(
        con,
        "select distinct v.round_id, v.source_commit, v.taken_at::varchar from raw.round_version v "
        "join marts.result m using (round_id) where m.benchmark = ? "
        "and (? is null or list_contains(?, v.round_id))",
        [benchmark, names, names],
    )
    shown = [division or "unknown" for division in divisions]
    return footnotes(benchmark, (Source(*row) for row in sources.rows), shown, lambda_chips)


def _cautions(table: Answer) -> list[str]:
    """What else must be known to read a ranking: soft breaks, measurements filed again."""
    found = [
        f"Warning: {text}." for text in dict.fromkeys(table.column("comparison_warning")) if text
    ]
    if any(table.column("refiled_from")):
        found.append(
            "Refiled: the same measurement as in an earlier round; clusters and fits count it once."
        )
    return found
