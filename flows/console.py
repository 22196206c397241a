"""What a person asked for on the command line about messages: how many and in which form."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Console:
    """How progress and errors are written to stderr.

    Attributes:
        is_quiet: no progress; errors and footnotes are written all the same.
        is_verbose: Prefect's own log lines as well.
        is_json: one JSON object per line instead of text.
        is_debug: tracebacks, and all of Prefect's log lines.
        run_id: names the run in each JSON line; None before a run has started.
    """

    is_quiet: bool = False
    is_verbose: bool = False
    is_json: bool = False
    is_debug: bool = False
    run_id: str | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Console:
        """Returns what the user's environment asks for: GPURANK_QUIET, GPURANK_LOG_FORMAT,
        GPURANK_DEBUG and GPURANK_RUN_ID."""
        env = os.environ if environ is None else environ
        return cls(
            is_quiet=env.get("GPURANK_QUIET", "") not in ("", "0"),
            is_json=env.get("GPURANK_LOG_FORMAT") == "json",
            is_debug=env.get("GPURANK_DEBUG", "") not in ("", "0"),
            run_id=env.get("GPURANK_RUN_ID") or None,
        )


_console: ContextVar[Console | None] = ContextVar("console", default=None)


def set_console(console: Console) -> None:
    """Set the options of this process's command; threads that copy its context have them, too."""
    _console.set(console)


def current_console() -> Console:
    """Returns the options of the running command; without a command, the environment's."""
    return _console.get() or Console.from_environment()
