"""The front door. Each command is one flow or one question; heavy imports stay inside them."""

from __future__ import annotations

import sys
import traceback
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from flows.console import Console, current_console, set_console
from gpurank.cli import anywhere, pipeline
from gpurank.cli import choose as cli_choose
from gpurank.cli import compare as cli_compare
from gpurank.cli import data as cli_operate
from gpurank.cli import explore as cli_read
from gpurank.cli import export as cli_export
from gpurank.cli import own_runs as cli_mine
from gpurank.cli import publish as cli_report
from gpurank.settings import SettingsError

app = typer.Typer(
    name="gpurank",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done · 1 some rounds failed · 2 usage · 3 source · 4 validation · "
    "5 another run holds the data folder · 6 no such data · 7 storage · 8 not comparable · "
    "70 internal error · 130 interrupted.",
)
pipeline.register(app)
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


@app.callback()
def common(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and all logs.")] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="Progress and errors on stderr.", envvar="GPURANK_LOG_FORMAT")
    ] = LogFormat.text,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Prefect's log, too.")] = False,
) -> None:
    """Select, cluster and rank accelerator configurations from published training benchmarks.

    GPURANK_HOME names the data folder (default ./data). Results go to stdout, progress to stderr.
    """
    if quiet and verbose:
        raise SettingsError("give --quiet or --verbose, not both")
    given = current_console()
    set_console(
        Console(
            is_quiet=(quiet or given.is_quiet) and not verbose,
            is_verbose=verbose,
            is_json=log_format is LogFormat.json,
            is_debug=debug or given.is_debug,
            run_id=given.run_id,
        )
    )


def main() -> None:
    """Run a command; any error becomes one message and an exit code."""
    set_console(Console.from_environment())
    if "--debug" in sys.argv[1:]:
        # Accepted anywhere: people add it to the end of the command that failed.
        sys.argv = [sys.argv[0], *(item for item in sys.argv[1:] if item != "--debug")]
        set_console(replace(current_console(), is_debug=True))
    _log_format_first()
    sys.argv = [sys.argv[0], *anywhere.arranged(sys.argv[1:])]
    try:
        app()
    except SystemExit:
        raise
    except BaseException as error:
        from flows.errors import explain

        if current_console().is_debug:
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
                    sys.argv[1:1] = ["--log-format", form.value]
                    set_console(replace(current_console(), is_json=form is LogFormat.json))
                    return


def _tell(code: int, message: str) -> None:
    if current_console().is_json:
        from flows import logs

        logs.write("error", message, exit_code=code)
    else:
        from flows.terminal_safety import say

        say(f"gpurank: {message}", sys.stderr)


if __name__ == "__main__":
    main()
