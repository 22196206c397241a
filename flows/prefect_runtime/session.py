"""What every command that writes needs around its flow: Prefect and a progress display."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from flows import logs, progress
from flows.console import current_console, set_console
from flows.prefect_runtime import environment, server
from gpurank.settings import Settings
from gpurank.store import rounds_lock
from gpurank.store.run_lock import LockHeld, holder


@contextmanager
def prefect_session(settings: Settings) -> Iterator[None]:
    """Provide a Prefect server and a progress display for the block.

    Import flows inside the block only: Prefect reads its environment while it is imported.

    Raises:
        LockHeld: another run is writing to the data folder; Prefect is not started.
        ServerFailed: Prefect's temporary server did not start.
    """
    settings.home.mkdir(parents=True, exist_ok=True)
    refuse_if_locked(settings)
    set_console(replace(current_console(), run_id=settings.run_id))
    announce_start(f"data folder {settings.home}; starting Prefect")
    environment.set_defaults(settings.home)
    with (
        server.temporary_server(settings.home / "prefect.log"),
        progress.display(expected_bytes(settings)),
    ):
        yield


def refuse_if_locked(settings: Settings) -> None:
    """Raises LockHeld where another run is writing to the data folder."""
    owner = holder(settings.lock_path)
    if owner is not None:
        raise LockHeld(settings.lock_path, owner)


def announce_start(text: str) -> None:
    """Write the first line of a run, before there is a progress display."""
    console = current_console()
    if console.is_quiet:
        return
    if console.is_json:
        logs.write("info", text)
    else:
        print(text, file=sys.stderr, flush=True)


def expected_bytes(settings: Settings) -> dict[str, int]:
    """Returns the bytes of each round as they were when it was last read, here or for shipping."""
    locked = {**rounds_lock.shipped(), **rounds_lock.read(settings.rounds_lock_path)}
    return {round_id: entry.bytes for round_id, entry in locked.items()}
