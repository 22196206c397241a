"""The command line: commands, console options, exit codes. Each command is a flow or a question."""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from flows import logs
from flows.console import Console, current_console, set_console
from gpurank.cli import choose, compare, data, explore, own_runs, pipeline, publish
from gpurank.cli.options import Form
from gpurank.cli.output.answer import Format
from gpurank.errors import explain
from gpurank.settings import SettingsError
from gpurank.terminal_safety import say


class LogFormat(StrEnum):
    """How progress and errors are written to stderr."""

    text = "text"
    json = "json"


_PANEL = "Progress and errors"
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No progress on stderr.", rich_help_panel=_PANEL)
]
Verbose = Annotated[
    bool, typer.Option("--verbose", help="Also show Prefect's log.", rich_help_panel=_PANEL)
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show tracebacks and all logs.", rich_help_panel=_PANEL)
]
LogForm = Annotated[
    LogFormat | None,
    typer.Option(
        "--log-format",
        help="Write them as text or as JSON lines.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
LogFormOrVariable = Annotated[
    LogFormat | None,
    typer.Option(
        "--log-format",
        help="Write them as text (default) or as JSON lines.",
        envvar="GPURANK_LOG_FORMAT",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Short for --format json.")]

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


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version  # slow to import

        print(f"gpurank {version('gpurank')}")
        raise typer.Exit


@app.callback()
def gpurank(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
    log_format: LogFormOrVariable = None,
) -> None:
    """Select, cluster and rank accelerator configurations from published training benchmarks.

    GPURANK_HOME names the data folder (default ./data). Results go to stdout, progress to stderr.

    --quiet, --verbose, --debug and --log-format may also follow the command.
    """
    _add_to_console(quiet, verbose, debug, log_format)


def _add_to_console(quiet: bool, verbose: bool, debug: bool, log_format: LogFormat | None) -> None:
    """Add options to those of this process's console.

    Raises:
        SettingsError: both quiet and verbose.
    """
    console = current_console()
    # The option --verbose overrides GPURANK_QUIET of the environment, but not --quiet.
    is_quiet_by_option = quiet or (console.is_quiet and not Console.from_environment().is_quiet)
    is_verbose = verbose or console.is_verbose
    if is_quiet_by_option and is_verbose:
        raise SettingsError("give --quiet or --verbose, not both")
    set_console(
        replace(
            console,
            is_quiet=(quiet or console.is_quiet) and not is_verbose,
            is_verbose=is_verbose,
            is_json=console.is_json if log_format is None else log_format is LogFormat.json,
            is_debug=debug or console.is_debug,
        )
    )


def _with_console_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with the console options added, and --json where it has --format."""

    def run(
        *,
        quiet: Quiet = False,
        verbose: Verbose = False,
        debug: Debug = False,
        log_format: LogForm = None,
        **options: Any,
    ) -> Any:
        _add_to_console(quiet, verbose, debug, log_format)
        if options.pop("is_json", False):
            options["form"] = Format.json
        return command(**options)

    parameters = list(inspect.signature(command, eval_str=True).parameters.values())
    if any(parameter.annotation == Form for parameter in parameters):
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("is_json", keyword, default=False, annotation=Json))
    added = inspect.signature(run, eval_str=True).parameters.values()
    parameters += [parameter for parameter in added if parameter.name != "options"]
    functools.update_wrapper(run, command)
    # Typer reads both: the options in their order, and their types.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _add_console_options(commands: typer.Typer) -> None:
    for command in commands.registered_commands:
        if command.callback is not None:
            command.callback = _with_console_options(command.callback)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _add_console_options(group.typer_instance)


_HELP_PANELS = (
    ("Build the warehouse", (pipeline,)),
    ("Ask the warehouse", (explore, choose, compare, own_runs)),
    ("Publish", (publish,)),
    ("Look after the data folder", (data,)),
)


def _register_commands() -> None:
    """Add every command to the application, under its heading in the help."""
    for panel, modules in _HELP_PANELS:
        first = len(app.registered_commands)
        for module in modules:
            module.register(app)
        for command in app.registered_commands[first:]:
            command.rich_help_panel = panel
    _add_console_options(app)


_register_commands()


def main() -> None:
    """Run a command; any error becomes one message and an exit code."""
    set_console(Console.from_environment())
    try:
        app()
    except SystemExit:
        raise
    except BaseException as error:
        console = current_console()
        if console.is_debug:
            traceback.print_exc()
        code, message = explain(error)
        if console.is_json:
            logs.write("error", message, exit_code=int(code))
        else:
            say(f"gpurank: {message}", sys.stderr)
        sys.exit(int(code))


if __name__ == "__main__":
    main()
