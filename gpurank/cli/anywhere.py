"""Words that may stand anywhere on the command line: people add them at its end."""

from __future__ import annotations

import os
from collections.abc import Sequence

_ANYWHERE = ("--quiet", "--verbose")


def arranged(arguments: Sequence[str]) -> list[str]:
    """``--quiet`` and ``--verbose`` brought to the front, ``--json`` written out.

    What follows ``--`` is left alone.
    """
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    head, tail = words[:end], words[end:]
    first = [word for word in head if word in _ANYWHERE]
    rest: list[str] = []
    for word in head:
        if word == "--json":
            rest += ["--format", "json"]
        elif word not in _ANYWHERE:
            rest.append(word)
    return [*first, *rest, *tail]


def set_loudness(is_quiet: bool, is_verbose: bool) -> None:
    """Less than the usual lines on stderr, or the orchestrator's own beside them.

    Raises:
        SettingsError: both.
    """
    if is_quiet and is_verbose:
        from gpurank.settings import SettingsError

        raise SettingsError("give --quiet or --verbose, not both")
    if is_quiet:
        os.environ["GPURANK_QUIET"] = "1"
    if is_verbose:
        os.environ.pop("GPURANK_QUIET", None)
        for name in ("PREFECT_LOGGING_LEVEL", "PREFECT_SERVER_LOGGING_LEVEL"):
            os.environ.setdefault(name, "INFO")
