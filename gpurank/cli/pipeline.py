"""Commands that build the warehouse: run, backfill, ingest, analyze, watch; facts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows.prefect_runtime.session import orchestrated
from gpurank.cli.options import AsOf, Form, Output
from gpurank.cli.output.answer import Format, show
from gpurank.settings import Settings, load

facts_app = typer.Typer(help="Rebuild the facts that ship with gpurank.", no_args_is_help=True)

Source = Annotated[
    str | None,
    typer.Option(
        help="Mirror folder, archive, Git URL or path, or a template with {round}.",
        envvar="GPURANK_SOURCE",
    ),
]
Rounds = Annotated[str, typer.Option(help="v2.0,v3.0 or v1.0..v5.0 or all.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Processes that read rounds or analyse benchmarks; default: the cores.", min=1
    ),
]
Bootstraps = Annotated[
    int | None,
    typer.Option(
        help="Resamples that tell how stable a finding is (default 500, 100 and 200 for "
        "selection, clusters and fleet law); 0: none, what depends on them is empty.",
        min=0,
    ),
]
Lambda = Annotated[
    float | None,
    typer.Option("--lambda", help="What a minute of waiting is worth, in chips (default 8)."),
]

Shrink = Annotated[
    bool,
    typer.Option("--accept-shrink", help="Publish though a table lost more rows than allowed."),
]
WatchSource = Annotated[
    str | None,
    typer.Option(
        help="Mirror folder, or a template with {round}; default the public repositories.",
        envvar="GPURANK_SOURCE",
    ),
]
_FINDINGS = {
    "round_id": "round",
    "state": "state",
    "commit": "commit",
    "known_commit": "in use",
    "message": "message",
}


def register(app: typer.Typer) -> None:
    """Add the building commands to the application."""
    for command in (run, backfill, ingest, analyze, watch):
        app.command()(command)
    app.add_typer(facts_app, name="facts", hidden=True)


def run(
    source: Source = None,
    rounds: Rounds = "all",
    workers: Workers = None,
    lambda_chips: Lambda = None,
    accept_shrink: Shrink = False,
    bootstraps: Bootstraps = None,
) -> None:
    """Ingest rounds and build the warehouse; without --source, from the shipped facts.

    Example: gpurank run
    Example: gpurank run --source mirror/ --rounds v4.0,v4.1
    """
    settings = load(None, source, workers, lambda_chips, accept_shrink, bootstraps)
    _backfill(settings, rounds, use_shipped=settings.source is None)


def backfill(
    source: Source = None,
    rounds: Rounds = "all",
    workers: Workers = None,
    lambda_chips: Lambda = None,
    accept_shrink: Shrink = False,
    bootstraps: Bootstraps = None,
) -> None:
    """Ingest many rounds side by side (default: from the public repositories), then analyze.

    Example: gpurank backfill --rounds v1.0..v5.0
    Example: gpurank backfill --source 'https://example.org/results_{round}.git' --rounds v4.1
    """
    settings = load(None, source, workers, lambda_chips, accept_shrink, bootstraps)
    _backfill(settings, rounds, use_shipped=False)


def ingest(
    round_id: Annotated[str, typer.Argument(metavar="ROUND", help="For example v4.0.")],
    source: Source = None,
    accept_shrink: Shrink = False,
) -> None:
    """Bring one round up to date in the store; `gpurank analyze` then builds the warehouse of it.

    Example: gpurank ingest v5.0 --source mirror/
    """
    from gpurank.declared.rounds import round_order
    from tasks.sources.resolve import resolve

    settings = load(source=source, accept_shrink=accept_shrink)
    round_order(round_id)
    resolve(round_id, settings.source)
    with orchestrated(settings):
        from flows.ingest import ingest as flow

        flow(round_id, settings.source, settings.place, settings.accept_shrink)


def analyze(
    lambda_chips: Lambda = None,
    accept_shrink: Shrink = False,
    as_of: AsOf = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Another DuckDB file to build.")
    ] = None,
    bootstraps: Bootstraps = None,
    workers: Workers = None,
) -> None:
    """Build the warehouse of every ingested round: select, cluster, rank, publish.

    Example: gpurank analyze --lambda 16
    Example: gpurank analyze --bootstraps 0
    Example: gpurank analyze --as-of 2025-11-15 --output november.duckdb
    """
    from gpurank.answers.warehouse import NoData
    from gpurank.settings import SettingsError
    from gpurank.store.history import moment
    from gpurank.store.versions import Store
    from tasks.checks import expectations as judge

    settings = load(None, None, workers, lambda_chips, accept_shrink, bootstraps)
    if as_of is not None:
        moment(as_of)
        if output is None:
            raise SettingsError("--as-of needs --output: the warehouse in use is never of the past")
    if settings.remote is None and not Store(settings.raw_dir).rounds():
        raise NoData(f"no round has been ingested into {settings.home}; `gpurank run` does both")
    judge.load_apart()
    with orchestrated(settings):
        from flows.analyze import analyze as flow

        target = str(output.absolute()) if output else None
        flow(
            settings.place, settings.lambda_chips, accept_shrink, as_of, target,
            settings.bootstraps, settings.workers,
        )  # fmt: skip


def watch(
    source: WatchSource = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only ask and show; change nothing.")
    ] = False,
    lambda_chips: Annotated[
        float | None, typer.Option("--lambda", help="Chips a minute of waiting is worth.")
    ] = None,
    accept_shrink: Annotated[
        bool, typer.Option("--accept-shrink", help="Publish though a table lost many rows.")
    ] = False,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Look for new rounds and changed ones, ingest those, analyze once, say what changed.

    Rounds that a source does not answer for are reported and left as they are.

    Example: gpurank watch --check
    Example: gpurank watch --source 'https://example.org/training_results_{round}.git'
    """
    from flows.errors import WatchIncomplete
    from gpurank.operations import watch_record as watching
    from gpurank.store import remote
    from gpurank.store.versions import now
    from tasks.sources.resolve import available
    from tasks.upkeep.watch import look

    settings = load(source=source, lambda_chips=lambda_chips, accept_shrink=accept_shrink)
    if check:
        remote.pull(settings)
        started_at, findings = now(), look(settings)
        show(watching.answer(findings), form, output, columns=_FINDINGS)
        record = watching.WatchRecord(started_at, now(), settings.run_id, True, findings)
        if record.unanswered:
            raise WatchIncomplete(record)
        return
    available(settings.source)
    with orchestrated(settings):
        from flows.watch import watch as flow

        flow(settings.source, settings.place, settings.lambda_chips, accept_shrink)
    kept = watching.read(settings.watch_path)
    show(watching.answer(kept.findings if kept else ()), form, output, columns=_FINDINGS)


@facts_app.command("build")
def facts_build(
    source: Annotated[str, typer.Option(help="Where the rounds are; as in `gpurank run`.")],
    rounds: Rounds = "all",
    target: Annotated[
        Path | None, typer.Option(help="The warehouse/ folder to write into; default: ours.")
    ] = None,
) -> None:
    """Ingest rounds, reduce their events to what facts point at, and write warehouse/facts.

    Example: gpurank facts build --source mirror/ --rounds v0.5..v5.0
    """
    from gpurank.store.versions import Store
    from tasks.ingest import shipped

    settings = load(source=source)
    names = shipped.selected(rounds, settings, use_shipped=False)
    _backfill(settings, rounds, use_shipped=False, then_analyze=False)
    folder = target or shipped.facts_dir().parent
    made = shipped.build(names, Store(settings.raw_dir), folder)
    total = sum(path.stat().st_size for path in (folder / "facts").rglob("*.*"))
    print(f"{len(made)} rounds, {total:,} bytes in {folder / 'facts'}", file=sys.stderr)


def _backfill(
    settings: Settings, rounds: str, use_shipped: bool, then_analyze: bool = True
) -> None:
    from tasks.ingest import shipped

    shipped.selected(rounds, settings, use_shipped)
    with orchestrated(settings):
        from flows.backfill import backfill as flow
        from flows.prefect_runtime.task_runner import task_runner

        flow.with_options(task_runner=task_runner(settings.workers))(
            rounds,
            settings.source,
            settings.place,
            use_shipped,
            settings.lambda_chips,
            then_analyze,
            settings.accept_shrink,
            settings.bootstraps,
            settings.workers,
        )
