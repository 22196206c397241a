"""One writer at a time: a file lock that names its owner.

The lock itself is the operating system's, so that a killed run frees it at once. The text in the
file says who holds it; text without a lock tells the next run that its predecessor crashed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpurank.errors import Exit, GpurankError


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds, or held, the lock."""

    pid: int
    host: str
    started_at: str
    command: str

    def age_s(self, now: datetime | None = None) -> float:
        """Returns the seconds since the owner started; 0 if the clock was set back."""
        try:
            started = datetime.fromisoformat(self.started_at)
            return max(0.0, ((now or datetime.now(UTC)) - started).total_seconds())
        except (TypeError, ValueError):
            return 0.0

    def __str__(self) -> str:
        minutes, seconds = divmod(int(self.age_s()), 60)
        return (
            f"process {self.pid} on {self.host} ({self.command}), "
            f"since {self.started_at}, {minutes} min {seconds} s ago"
        )


class LockHeld(GpurankError, RuntimeError):
    """Another run is writing to this data folder.

    ``place`` is the lock file, or the address of a folder on an object store.
    """

    exit_code = Exit.LOCKED

    def __init__(
        self,
        place: Path | str,
        owner: Owner | None,
        advice: str = "wait for it to end, or give this run another GPURANK_HOME",
    ) -> None:
        self.owner = owner
        folder = place.parent if isinstance(place, Path) else place
        who = str(owner) if owner else "a process that has not yet written its name"
        super().__init__(
            f"already running: {folder} is held by {who}. Nothing was changed; {advice}"
        )


def read_owner(path: Path) -> Owner | None:
    """Returns the owner named in the lock file; None if there is none or it is unreadable."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        return Owner(int(row["pid"]), str(row["host"]), str(row["started_at"]), row["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def holder(path: Path) -> Owner | None:
    """Returns the owner if the lock is held right now, else None. Changes nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return read_owner(path) or Owner(0, "?", "?", "?")
        raise
    finally:
        os.close(descriptor)
    return None


@contextmanager
def writing(path: Path, command: str | None = None) -> Iterator[Owner | None]:
    """Holds the lock for the block. Yields the crashed previous owner, if any.

    Raises:
        LockHeld: another process, or another block of this one, holds it.
        OSError: the folder cannot be written, or its file system does not support locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise LockHeld(path, read_owner(path)) from None
            raise
        predecessor = read_owner(path)
        _write(descriptor, command or " ".join(["gpurank", *sys.argv[1:3]]))
        try:
            yield predecessor
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _write(descriptor: int, command: str) -> None:
    started = datetime.now(UTC).isoformat(timespec="seconds")
    owner = Owner(os.getpid(), socket.gethostname(), started, command)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(owner)).encode(), 0)
