"""The front door. Each command is one flow or one question; heavy imports stay inside them."""

from __future__ import annotations

import os
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from flows.prefect_runtime.session import is_debug, orchestrated
from gpurank.cli import anywhere
from gpurank.cli import choose as cli_choose
from gpurank.cli import compare as cli_compare
from gpurank.cli import data as cli_operate
from gpurank.cli import explore as cli_read
from gpurank.cli import export as cli_export
from gpurank.cli import own_runs as cli_mine
from gpurank.cli import publish as cli_report
from gpurank.settings import Settings, load

app = typer.Typer(
    name="gpurank",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done · 1 some rounds failed · 2 usage · 3 source · 4 validation · "
    "5 another run holds the data folder · 6 no such data · 7 storage · 8 not comparable · "
    "70 our fault · 130 interrupted.",
)
facts_app = typer.Typer(help="Rebuild the facts that ship with gpurank.", no_args_is_help=True)
app.add_typer(facts_app, name="facts", hidden=True)
cli_read.register(app)
cli_operate.register(app)
cli_choose.register(app)
cli_mine.register(app)
cli_report.register(app)
cli_export.register(app)
app.command()(cli_compare.compare)


class LogFormat(StrEnum):
    """How progress and errors are written."""

    text = "text"
    json = "json"


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


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and all logs.")] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="Progress and errors on stderr.", envvar="GPURANK_LOG_FORMAT")
    ] = LogFormat.text,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="The orchestrator's log too.")] = False,
) -> None:
    """Select, cluster and rank accelerator configurations from published training benchmarks.

    GPURANK_HOME names the data folder (default ./data). Results go to stdout, progress to stderr.
    """
    os.environ["GPURANK_LOG_FORMAT"] = log_format.value
    anywhere.set_loudness(quiet, verbose)


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def analyze(
    lambda_chips: Lambda = None,
    accept_shrink: Shrink = False,
    as_of: cli_read.AsOf = None,
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


def main() -> None:
    """Run a command; any error becomes one message and an exit code."""
    if "--debug" in sys.argv[1:]:
        # Accepted anywhere: people add it to the end of the command that failed.
        sys.argv = [sys.argv[0], *(item for item in sys.argv[1:] if item != "--debug")]
        os.environ["GPURANK_DEBUG"] = "1"
    _log_format_first()
    sys.argv = [sys.argv[0], *anywhere.arranged(sys.argv[1:])]
    try:
        app()
    except SystemExit:
        raise
    except BaseException as error:
        from gpurank.errors import explain

        if is_debug():
            traceback.print_exc()
        code, message = explain(error)
        _tell(int(code), message)
        sys.exit(int(code))


def _log_format_first() -> None:
    """Accept --log-format anywhere, as --debug: it is added to a line of a crontab at its end."""
    for form in LogFormat:
        for words in (["--log-format", form.value], [f"--log-format={form.value}"]):
            for place in range(1, len(sys.argv)):
                if sys.argv[place : place + len(words)] == words:
                    del sys.argv[place : place + len(words)]
                    os.environ["GPURANK_LOG_FORMAT"] = form.value
                    return


def _tell(code: int, message: str) -> None:
    if os.environ.get("GPURANK_LOG_FORMAT") == "json":
        from flows import logs

        logs.write("error", message, exit_code=code)
    else:
        from gpurank.terminal_safety import say

        say(f"gpurank: {message}", sys.stderr)


if __name__ == "__main__":
    main()
