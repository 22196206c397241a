"""Environment variables that Prefect and Arrow read once, while they are imported."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from flows.console import Console, current_console

_DEFAULTS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    # No flow uses Prefect's blocks. To list them, Prefect imports every package that may bring
    # some at each start: with a Dask runner half a second and 25 MB.
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
    "PREFECT_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
    # Arrow's default memory pool does not return memory to the operating system.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # On a loaded machine Prefect takes longer than the 20 s that it waits by default.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}

_CHATTY_LOGGER = "great_expectations.data_context.types.base"


def set_defaults(home: Path, console: Console | None = None) -> None:
    """Set what the user has not set: no analytics, longer timeouts, few log lines, a home.

    Call it before Prefect is imported.

    Args:
        home: the data folder; Prefect's own folder is made there where the user's home is not
            writable.
        console: which log lines of Prefect are shown; default: the running command's.
    """
    options = console or current_console()
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    # Our own lines report progress, and an error is reported once, by the command.
    is_loud = options.is_debug or options.is_verbose
    server_level = "WARNING" if options.is_debug else "CRITICAL"
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO" if is_loud else "CRITICAL")
    os.environ.setdefault(
        "PREFECT_SERVER_LOGGING_LEVEL", "INFO" if options.is_verbose else server_level
    )
    if not options.is_debug:
        # Great Expectations sets this logger's level while it is imported; a filter outlives that.
        logging.getLogger(_CHATTY_LOGGER).addFilter(
            lambda record: record.levelno >= logging.WARNING
        )
    if "PREFECT_HOME" not in os.environ and not _has_writable_home():
        os.environ["PREFECT_HOME"] = str(home / "prefect")


def _has_writable_home() -> bool:
    try:
        folder = Path("~/.prefect").expanduser()
    except RuntimeError:
        return False
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
