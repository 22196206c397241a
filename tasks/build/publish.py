"""The warehouse is built beside the one in use and swapped whole; readers keep what they opened."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpurank.settings import Settings

_BUILDING = ".building.duckdb"
_SURELY_DEAD_S = 6 * 3600.0


@contextmanager
def building(settings: Settings) -> Iterator[Path]:
    """Path of a warehouse to build; whatever is left of it afterwards is removed."""
    folder = settings.warehouse_path.parent
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{settings.warehouse_path.stem}.{os.getpid()}-{uuid.uuid4().hex[:8]}{_BUILDING}"
    path = folder / name
    try:
        yield path
    finally:
        _remove(path)


def swap(built: Path, settings: Settings) -> None:
    """Put a closed, complete warehouse in the place of the one in use.

    Raises:
        RuntimeError: its write-ahead log is still there, so it was not closed.
    """
    if _log(built).exists():
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
    """Remove what dead runs left half-built; gives how many. Call under the run lock.

    Warehouses of the past are built without that lock: only old pieces of them are removed.
    """
    old = time.time() - _SURELY_DEAD_S
    left = sorted(settings.home.glob(f"*{_BUILDING}"))
    for path in settings.as_of_dir.glob(f"*{_BUILDING}"):
        left += [path] if path.stat().st_mtime < old else []
    for path in left:
        _remove(path)
    return len(left)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _log(path).unlink(missing_ok=True)


def _log(path: Path) -> Path:
    return path.with_name(path.name + ".wal")
