"""Commands that run a pipeline: run, ingest, analyze and watch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flows import progress
from flows.prefect_runtime.session import prefect_session, refuse_if_locked
from gpurank.cli.options import AsOf, Form, Output
from gpurank.cli.output.answer import Format, show
from gpurank.settings import Settings, SettingsError, load

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
        help="Resamples that show how stable a finding is (default 500, 100 and 200 for "
        "selection, clusters and scaling of accelerators); 0: none, and what depends on them is "
        "empty.",
        min=0,
    ),
]
Lambda = Annotated[
    float | None,
    typer.Option(
        "--lambda", help="What a minute of waiting is worth, in rented chips (default 8)."
    ),
]
Shrink = Annotated[
    bool,
    typer.Option(
        "--accept-shrink", help="Publish even though a table lost more rows than allowed."
    ),
]
Missing = Annotated[
    bool,
    typer.Option(
        "--accept-missing",
        help="Take a Git directory that lacks some files: they are listed as withheld, and results "
        "whose logs are missing have no score.",
    ),
]
_FINDINGS = {
    "round_id": "round",
    "state": "state",
    "commit": "commit",
    "known_commit": "in use",
    "message": "message",
}
facts_app = typer.Typer(help="Rebuild the facts that ship with gpurank.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (run, ingest, analyze, watch):
        app.command()(command)
    app.command(hidden=True)(backfill)
    app.add_typer(facts_app, name="facts", hidden=True)


def run(
    source: Source = None,
    rounds: Rounds = "all",
    workers: Workers = None,
    lambda_chips: Lambda = None,
    accept_shrink: Shrink = False,
    accept_missing: Missing = False,
    bootstraps: Bootstraps = None,
) -> None:
    """Ingest rounds and build the warehouse; without --source, from the shipped facts.

    Where nothing has changed since the last run, nothing is built.

    Example: gpurank run
    Example: gpurank run --source mirror/ --rounds v4.0,v4.1
    """
    settings = load(
        None,
        source,
        workers,
        lambda_chips,
        accept_shrink,
        bootstraps,
        accept_missing=accept_missing,
    )
    _ingest_and_analyze(settings, rounds, use_shipped=settings.source is None)


def backfill(
    source: Source = None,
    rounds: Rounds = "all",
    workers: Workers = None,
    lambda_chips: Lambda = None,
    accept_shrink: Shrink = False,
    accept_missing: Missing = False,
    bootstraps: Bootstraps = None,
) -> None:
    """The old name of `gpurank run`; without --source, from the public repositories.

    Example: gpurank backfill --rounds v1.0..v5.0
    """
    settings = load(
        None,
        source,
        workers,
        lambda_chips,
        accept_shrink,
        bootstraps,
        accept_missing=accept_missing,
    )
    _ingest_and_analyze(settings, rounds, use_shipped=False)


def ingest(
    round_id: Annotated[str, typer.Argument(metavar="ROUND", help="For example v4.0.")],
    source: Source = None,
    accept_shrink: Shrink = False,
    accept_missing: Missing = False,
) -> None:
    """Bring one round up to date in the store; `gpurank analyze` then builds the warehouse.

    Example: gpurank ingest v5.0 --source mirror/
    """
    from gpurank.declared.rounds import round_order
    from tasks.sources.resolve import resolve

    settings = load(source=source, accept_shrink=accept_shrink, accept_missing=accept_missing)
    round_order(round_id)
    resolve(round_id, settings.source)
    with prefect_session(settings):
        from flows.ingest import ingest as flow

        flow(
            round_id,
            source=settings.source,
            home=settings.place,
            accept_shrink=accept_shrink,
            accept_missing=accept_missing,
            run_id=settings.run_id,
        )


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

    Where nothing has changed since the last analysis, nothing is built.

    Example: gpurank analyze --lambda 16
    Example: gpurank analyze --bootstraps 0
    Example: gpurank analyze --as-of 2025-11-15 --output november.duckdb
    """
    from gpurank.answers.warehouse import NoData
    from gpurank.store.history import moment
    from gpurank.store.versions import Store

    settings = load(None, None, workers, lambda_chips, accept_shrink, bootstraps)
    if as_of is not None:
        moment(as_of)
        if output is None:
            raise SettingsError("--as-of needs --output: the published warehouse is of today")
    if settings.remote is None and not Store(settings.raw_dir).rounds():
        raise NoData(f"no round has been ingested into {settings.home}; `gpurank run` does both")
    if output is None and _is_up_to_date(settings):
        return
    with prefect_session(settings):
        from flows.analyze import analyze as flow
        from flows.prefect_runtime.task_runner import task_runner

        flow.with_options(task_runner=task_runner(settings.workers))(
            home=settings.place,
            lambda_chips=settings.lambda_chips,
            accept_shrink=accept_shrink,
            as_of=as_of,
            output=str(output.absolute()) if output else None,
            bootstraps=settings.bootstraps,
            workers=settings.workers,
            run_id=settings.run_id,
        )


def watch(
    source: Annotated[
        str | None,
        typer.Option(
            help="Mirror folder, or a template with {round}; default the public repositories.",
            envvar="GPURANK_SOURCE",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only ask and show; change nothing.")
    ] = False,
    lambda_chips: Lambda = None,
    accept_shrink: Shrink = False,
    form: Form = Format.table,
    output: Output = None,
) -> None:
    """Look for new rounds and changed ones, ingest those, analyze once, say what changed.

    Rounds that a source does not answer for are reported and left as they are.

    Example: gpurank watch --check
    Example: gpurank watch --source 'https://example.org/training_results_{round}.git'
    """
    from flows.errors import WatchIncomplete
    from gpurank.operations import watch_record
    from gpurank.store import remote
    from gpurank.store.versions import now
    from tasks.sources.resolve import available
    from tasks.upkeep.watch import look, make_record

    settings = load(source=source, lambda_chips=lambda_chips, accept_shrink=accept_shrink)
    if check:
        remote.pull(settings)
        started_at, findings = now(), look(settings)
        show(watch_record.answer(findings), form, output, columns=_FINDINGS)
        record = make_record(started_at, findings, (), settings)
        if record.unanswered:
            raise WatchIncomplete(record)
        return
    available(settings.source)
    with prefect_session(settings):
        from flows.watch import watch as flow

        flow(
            source=settings.source,
            home=settings.place,
            lambda_chips=settings.lambda_chips,
            accept_shrink=accept_shrink,
            run_id=settings.run_id,
        )
    last = watch_record.read(settings.watch_path)
    show(watch_record.answer(last.findings if last else ()), form, output, columns=_FINDINGS)


@facts_app.command("build")
def facts_build(
    source: Annotated[str, typer.Option(help="Where the rounds are; as in `gpurank run`.")],
    rounds: Rounds = "all",
    accept_missing: Missing = False,
    target: Annotated[
        Path | None, typer.Option(help="The warehouse/ folder to write into; default: ours.")
    ] = None,
) -> None:
    """Ingest rounds, reduce their events to what facts point at, and write warehouse/facts.

    Example: gpurank facts build --source mirror/ --rounds v0.5..v5.1
    Example: gpurank facts build --source 'mirror/training_results_{round}.git' --accept-missing
    """
    from gpurank.store.versions import Store
    from tasks.ingest import shipped

    settings = load(source=source, accept_missing=accept_missing)
    round_ids = shipped.selected(rounds, settings, use_shipped=False)
    _ingest_and_analyze(settings, rounds, use_shipped=False, then_analyze=False)
    folder = target or shipped.facts_dir().parent
    built = shipped.build(round_ids, Store(settings.raw_dir), folder)
    total = sum(path.stat().st_size for path in (folder / "facts").rglob("*.*"))
    print(f"{len(built)} rounds, {total:,} bytes in {folder / 'facts'}", file=sys.stderr)


def _ingest_and_analyze(
    settings: Settings, rounds: str, use_shipped: bool, then_analyze: bool = True
) -> None:
    from tasks.ingest import shipped

    round_ids = shipped.selected(rounds, settings, use_shipped)
    if then_analyze and _is_up_to_date(settings, round_ids, use_shipped):
        return
    with prefect_session(settings):
        from flows.backfill import backfill as flow
        from flows.prefect_runtime.task_runner import task_runner

        flow.with_options(task_runner=task_runner(settings.workers))(
            rounds=rounds,
            source=settings.source,
            home=settings.place,
            use_shipped=use_shipped,
            lambda_chips=settings.lambda_chips,
            then_analyze=then_analyze,
            accept_shrink=settings.accept_shrink,
            accept_missing=settings.accept_missing,
            bootstraps=settings.bootstraps,
            workers=settings.workers,
            run_id=settings.run_id,
        )


def _is_up_to_date(
    settings: Settings, round_ids: tuple[str, ...] = (), use_shipped: bool = False
) -> bool:
    """Returns whether a run would change nothing, and then says so; it takes no Prefect to know.

    A data folder on object storage is always left to the flow, which fetches what others wrote.
    """
    from tasks.build import provenance
    from tasks.ingest import shipped
    from tasks.upkeep.watch import is_source_unchanged

    if settings.remote is not None or not settings.warehouse_path.is_file():
        return False
    refuse_if_locked(settings)
    if not provenance.is_up_to_date(settings):
        return False
    is_unchanged = shipped.is_adopted if use_shipped else is_source_unchanged
    if not is_unchanged(round_ids, settings):
        return False
    with progress.display({}):
        progress.current().say(f"nothing changed: {settings.warehouse_path} is up to date")
    return True
