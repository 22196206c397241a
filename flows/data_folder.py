"""The data folder of a flow: one run at a time writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flows import progress
from gpurank.settings import Settings
from gpurank.store import remote
from gpurank.store.run_lock import writing
from gpurank.store.versions import Store
from tasks.build import publish


@contextmanager
def locked(settings: Settings, command: str) -> Iterator[None]:
    """Hold the run lock for the block; first remove what a killed run left unfinished.

    Raises:
        LockHeld: another run holds it.
    """
    with (
        writing(settings.lock_path, command) as predecessor,
        remote.claimed(settings, command),
    ):
        remote.pull(settings)
        removed = Store(settings.raw_dir).sweep() + publish.sweep(settings)
        if predecessor is not None:
            progress.current().say(
                f"the run of {predecessor} ended without finishing; {removed} unfinished "
                "versions and warehouses were removed, and this run takes over"
            )
        try:
            yield
        finally:
            remote.push_records(settings)
