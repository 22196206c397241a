"""How a command talks on stderr: quiet, verbose, as JSON, with tracebacks."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Console:
    """What the person or the machine that started the command wants to see on stderr."""

    is_quiet: bool = False
    is_verbose: bool = False
    is_json: bool = False
    is_debug: bool = False


_DEFAULT = Console()
_console: ContextVar[Console] = ContextVar("console", default=_DEFAULT)


def set_console(console: Console) -> None:
    """Use these settings in this context and in the threads that copy it."""
    _console.set(console)


def current_console() -> Console:
    """Returns the settings of this context."""
    return _console.get()
