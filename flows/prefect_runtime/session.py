"""What every command that writes needs around it: an orchestrator and a display."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from flows.console import current_console
from gpurank.settings import Settings


@contextmanager
def orchestrated(settings: Settings) -> Iterator[None]:
    """Refuse early what is bound to fail, then have an orchestrator and a display for the block."""
    # Thousands of classes are imported, which stay: a quarter of that time goes to looking among
    # them for garbage.
    gc.set_threshold(20_000, 20, 100)
    from flows import logs, progress
    from flows.prefect_runtime import environment, server
    from gpurank.store import rounds_lock as roundlock
    from gpurank.store.run_lock import LockHeld, holder

    console = current_console()
    settings.home.mkdir(parents=True, exist_ok=True)
    owner = holder(settings.lock_path)
    if owner is not None:
        raise LockHeld(settings.lock_path, owner)
    # The flow builds its own settings: all of one run share its name.
    os.environ["GPURANK_RUN_ID"] = settings.run_id
    starting = f"data folder {settings.home}; starting the orchestrator"
    if logs.is_json() and not console.is_quiet:
        logs.write("info", starting)
    elif not console.is_quiet:
        print(starting, file=sys.stderr, flush=True)
    environment.prepare(settings, debug=console.is_debug, verbose=console.is_verbose)
    expected = {
        **{name: item.bytes for name, item in roundlock.shipped().items()},
        **{name: item.bytes for name, item in roundlock.read(settings.rounds_lock_path).items()},
    }
    with (
        server.temporary(settings.home / "orchestrator.log"),
        progress.shown(expected, console.is_quiet),
    ):
        try:
            yield
        finally:
            # The process ends soon, which begins with another look at all of it: a second or two.
            gc.freeze()
