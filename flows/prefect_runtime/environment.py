"""The orchestrator's environment, set before it is imported: it reads it once."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from gpurank.settings import Settings

_DEFAULTS = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    # No flow of ours uses its blocks. To list them, every package that may bring some is imported
    # at each start: with a Dask runner half a second and 25 MB.
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
    "PREFECT_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
    # Arrow's usual pool keeps what it was given once.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # A loaded machine takes longer than the 20 s that is waited for by default.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}

_CHATTY = "great_expectations.data_context.types.base"


def prepare(settings: Settings, debug: bool = False, verbose: bool = False) -> None:
    """Set what the person running us has not set: no analytics, patience, quiet, a home."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    # Our own lines say what happens; an error is told once, by us.
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO" if debug or verbose else "CRITICAL")
    server_level = "INFO" if verbose else "WARNING" if debug else "CRITICAL"
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", server_level)
    if not debug:
        # The validator sets its own level while it is imported; a filter outlives that.
        logging.getLogger(_CHATTY).addFilter(lambda record: record.levelno >= logging.WARNING)
    if "PREFECT_HOME" not in os.environ and not _has_writable_home():
        os.environ["PREFECT_HOME"] = str(settings.home / "prefect")


def _has_writable_home() -> bool:
    try:
        folder = Path("~/.prefect").expanduser()
    except RuntimeError:
        return False
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
