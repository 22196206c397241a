"""Publish a warehouse: build it next to the one in use, then swap the files.

Readers keep the file that they opened.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpurank.settings import Settings

_BUILDING = ".building.duckdb"
_ABANDONED_AFTER_S = 6 * 3600.0


@contextmanager
def temporary_file(settings: Settings) -> Iterator[Path]:
    """Provide the path of a warehouse to build; removes what is still there after the block."""
    folder = settings.warehouse_path.parent
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{settings.warehouse_path.stem}.{os.getpid()}-{uuid.uuid4().hex[:8]}{_BUILDING}"
    path = folder / name
    try:
        yield path
    finally:
        _remove(path)


def swap(built: Path, settings: Settings) -> None:
    """Replace the warehouse in use by a complete, closed one, durably.

    Raises:
        RuntimeError: the write-ahead log is still there, so the new warehouse was not closed.
    """
    if _write_ahead_log(built).exists():
        raise RuntimeError(f"{built} is still open; close it before it is published")
    with built.open("rb+") as stream:
        os.fsync(stream.fileno())
    built.replace(settings.warehouse_path)
    descriptor = os.open(settings.warehouse_path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(settings: Settings) -> int:
    """Remove warehouses that killed runs left unfinished. Call it while holding the run lock.

    Warehouses as of past dates are built without that lock, so that only old files of those are
    removed.

    Returns:
        The number of removed warehouses.
    """
    oldest = time.time() - _ABANDONED_AFTER_S
    unfinished = sorted(settings.home.glob(f"*{_BUILDING}"))
    unfinished += [
        path for path in settings.as_of_dir.glob(f"*{_BUILDING}") if path.stat().st_mtime < oldest
    ]
    for path in unfinished:
        _remove(path)
    return len(unfinished)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _write_ahead_log(path).unlink(missing_ok=True)


def _write_ahead_log(path: Path) -> Path:
    return path.with_name(path.name + ".wal")
