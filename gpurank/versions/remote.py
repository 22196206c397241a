"""A data folder on object storage: a local copy that is filled before a run and sent after it.

``GPURANK_HOME=s3://bucket/prefix`` (anything that pyarrow.fs reads by its URI). A version is sent
file by file, its manifest last, the round's pointer after that: a reader sees it whole or not at
all. Objects are replaced whole; nothing is edited. Nothing here is used for a folder on disk.
"""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpurank.settings import Settings
from gpurank.versions.lock import LockHeld, Owner
from gpurank.versions.store import MANIFEST, Store, StoreError, read_manifest

# A run that died leaves its claim behind; no run takes as long.
CLAIM_ENDS_S = 6 * 3600.0
# Object stores date objects by the second: after this, every claim of one's own second is visible.
_SETTLE_S = 1.2
_POINTERS = ("seen.json", "published.json", "latest")
_SHARED = ("watch.json", "rounds.lock.yml")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of an object store."""

    filesystem: Any
    root: str

    def read(self, name: str) -> bytes | None:
        """An object's bytes; None where there is none."""
        try:
            with self.filesystem.open_input_stream(f"{self.root}/{name}") as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Put an object in place whole."""
        with self.filesystem.open_output_stream(f"{self.root}/{name}") as stream:
            stream.write(data)

    def names(self, below: str) -> list[Any]:
        """What stands right below a folder; nothing where there is no such folder."""
        from pyarrow.fs import FileSelector

        chosen = FileSelector(f"{self.root}/{below}".rstrip("/"), allow_not_found=True)
        return sorted(self.filesystem.get_file_info(chosen), key=lambda info: info.path)

    def exists(self, name: str) -> bool:
        """Whether there is an object of that name."""
        return bool(self.filesystem.get_file_info(f"{self.root}/{name}").is_file)


def place(settings: Settings) -> Place | None:
    """The object store's folder that a data folder is a copy of; None for a folder on disk.

    Raises:
        StoreError: the address cannot be used.
    """
    if settings.remote is None:
        return None
    from pyarrow.fs import FileSystem

    try:
        filesystem, root = FileSystem.from_uri(settings.remote)
    except (OSError, ValueError) as error:
        raise StoreError(f"{settings.remote} cannot be used as a data folder: {error}") from None
    return Place(filesystem, root.rstrip("/"))


def pull(settings: Settings) -> None:
    """Bring the local copy up to what is there: versions that are missing, pointers, records."""
    there = place(settings)
    if there is None:
        return
    for info in there.names("raw"):
        pull_round(settings, info.base_name, there)
    settings.home.mkdir(parents=True, exist_ok=True)
    for name in _SHARED:
        _fetch(there, name, settings.home / name)
    refresh(settings, there)


def pull_round(settings: Settings, round_id: str, there: Place | None = None) -> None:
    """The same for one round: pointers are read first, versions (which never change) after them."""
    there = there or place(settings)
    if there is None:
        return
    pointers = {name: there.read(f"raw/{round_id}/{name}") for name in _POINTERS}
    store = Store(settings.raw_dir)
    for info in there.names(f"raw/{round_id}"):
        where = f"raw/{round_id}/{info.base_name}"
        is_here = (store.folder(round_id, info.base_name) / MANIFEST).is_file()
        if info.is_file or is_here or not there.exists(f"{where}/{MANIFEST}"):
            continue
        with store.building(round_id) as folder:
            for item in there.names(where):
                _fetch(there, f"{where}/{item.base_name}", folder / item.base_name)
            manifest = read_manifest(folder)
            folder.rename(store.folder(round_id, manifest.version_id))
    for name, data in pointers.items():
        if data is not None:
            _put(settings.raw_dir / round_id / name, data)


def push_round(settings: Settings, round_id: str) -> None:
    """Send a round's versions that are not there yet, then its pointers, ``latest`` last."""
    there = place(settings)
    if there is None:
        return
    root = settings.raw_dir / round_id
    for manifest in sorted(root.glob(f"[!.]*/{MANIFEST}")):
        where = f"raw/{round_id}/{manifest.parent.name}"
        if there.exists(f"{where}/{MANIFEST}"):
            continue
        for path in sorted(manifest.parent.iterdir()):
            if path.name != MANIFEST:
                there.write(f"{where}/{path.name}", path.read_bytes())
        there.write(f"{where}/{MANIFEST}", manifest.read_bytes())
    for name in _POINTERS:
        if (root / name).is_file():
            there.write(f"raw/{round_id}/{name}", (root / name).read_bytes())


def push_records(settings: Settings) -> None:
    """Send the warehouse and what stands beside the versions."""
    there = place(settings)
    if there is None or settings.output is not None:
        return
    for name in (*_SHARED, "warehouse.duckdb"):
        if (settings.home / name).is_file():
            there.write(name, (settings.home / name).read_bytes())


def refresh(settings: Settings, there: Place | None = None) -> None:
    """Fetch the warehouse if it is another than the local copy was taken from."""
    there = there or place(settings)
    if there is None:
        return
    info = there.filesystem.get_file_info(f"{there.root}/warehouse.duckdb")
    stamp, seen = settings.home / ".warehouse.seen", f"{info.mtime_ns} {info.size}"
    if not info.is_file or (stamp.is_file() and stamp.read_text() == seen):
        return
    settings.home.mkdir(parents=True, exist_ok=True)
    _fetch(there, "warehouse.duckdb", settings.home / "warehouse.duckdb")
    _put(stamp, seen.encode())


@contextmanager
def claimed(settings: Settings, command: str) -> Iterator[None]:
    """Be the only run on an object store's folder for the block; free for a folder on disk.

    Each run puts a claim, waits until all of the same second must be visible, and looks: the
    oldest holds the folder.

    Raises:
        LockHeld: another run was first.
    """
    there = place(settings)
    if there is None:
        yield
        return
    started = datetime.now(UTC).isoformat(timespec="seconds")
    owner = Owner(os.getpid(), socket.gethostname(), started, command)
    mine = f"{uuid.uuid4().hex}.json"
    there.write(f"claims/{mine}", json.dumps(asdict(owner)).encode())
    try:
        time.sleep(_SETTLE_S)
        first = _oldest(there)
        if first != mine:
            text = there.read(f"claims/{first}")
            raise LockHeld(Path(settings.remote or ""), Owner(**json.loads(text)) if text else None)
        yield
    finally:
        there.filesystem.delete_file(f"{there.root}/claims/{mine}")


def _oldest(there: Place) -> str:
    claims = there.names("claims")
    newest = max(info.mtime_ns for info in claims)
    living = [info for info in claims if (newest - info.mtime_ns) / 1e9 < CLAIM_ENDS_S]
    for info in claims:
        if info not in living:
            there.filesystem.delete_file(info.path)
    return str(min(living, key=lambda info: (info.mtime_ns // 10**9, info.path)).base_name)


def _fetch(there: Place, name: str, target: Path) -> None:
    data = there.read(name)
    if data is not None:
        _put(target, data)


def _put(path: Path, data: bytes) -> None:
    temporary = path.parent / f".{path.name}.{os.getpid()}.tmp"
    temporary.write_bytes(data)
    temporary.replace(path)
