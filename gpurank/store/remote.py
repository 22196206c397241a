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
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpurank.settings import Settings
from gpurank.store.run_lock import LockHeld, Owner
from gpurank.store.versions import MANIFEST, Store, StoreError, damage, read_manifest

# A run that died leaves its claim behind; no run takes as long.
CLAIM_ENDS_S = 6 * 3600.0
# Object stores date objects by the second: after this, every claim of one's own second is visible.
_SETTLE_S = 1.2
_POINTERS = ("seen.json", "published.json", "latest")
# Versions that were removed: other machines may still hold them and must not send them again.
_PRUNED = "pruned.json"
_ATTEMPTS = 3
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
    """The same for one round: pointers are read first, versions (which never change) after them.

    Raises:
        StoreError: the version that the pointer names is not there.
    """
    there = there or place(settings)
    if there is None:
        return
    store = Store(settings.raw_dir)
    for _ in range(_ATTEMPTS):
        pointers = {name: there.read(f"raw/{round_id}/{name}") for name in _POINTERS}
        for info in there.names(f"raw/{round_id}"):
            if not info.is_file:
                _pull_version(store, round_id, info.base_name, there)
        latest = (pointers["latest"] or b"").decode().strip()
        # Where it was replaced and pruned meanwhile, the pointer now names another.
        if not latest or (store.folder(round_id, latest) / MANIFEST).is_file():
            break
    else:
        raise StoreError(
            f"{settings.remote}/raw/{round_id}/latest names {latest}, which is not there; put back "
            "that version, or the name of one that is there"
        )
    for name, data in pointers.items():
        if data is not None:
            _put(settings.raw_dir / round_id / name, data)


def _pull_version(store: Store, round_id: str, version: str, there: Place) -> None:
    """Fetch a version that is there whole and not here; one that is pruned meanwhile is left."""
    where = f"raw/{round_id}/{version}"
    is_here = (store.folder(round_id, version) / MANIFEST).is_file()
    if is_here or not there.exists(f"{where}/{MANIFEST}"):
        return
    with store.building(round_id) as folder:
        for item in there.names(where):
            _fetch(there, f"{where}/{item.base_name}", folder / item.base_name)
        if (folder / MANIFEST).is_file() and (
            not damage(folder, read_manifest(folder)) or there.exists(f"{where}/{MANIFEST}")
        ):
            folder.rename(store.folder(round_id, version))


def push_round(settings: Settings, round_id: str) -> None:
    """Send a round's versions that are not there yet, then its pointers, ``latest`` last."""
    there = place(settings)
    if there is None:
        return
    root, pruned = settings.raw_dir / round_id, _pruned(there, round_id)
    latest = Store(settings.raw_dir).latest(round_id)
    in_use = latest.version_id if latest else None
    for manifest in sorted(root.glob(f"[!.]*/{MANIFEST}")):
        where, version = f"raw/{round_id}/{manifest.parent.name}", manifest.parent.name
        if there.exists(f"{where}/{MANIFEST}") or (version in pruned and version != in_use):
            continue
        for path in sorted(manifest.parent.iterdir()):
            if path.name != MANIFEST:
                there.write(f"{where}/{path.name}", path.read_bytes())
        there.write(f"{where}/{MANIFEST}", manifest.read_bytes())
    if in_use in pruned:
        # Bytes that came back.
        _write_pruned(there, round_id, pruned - {in_use})
    for name in _POINTERS:
        if (root / name).is_file():
            there.write(f"raw/{round_id}/{name}", (root / name).read_bytes())


def remove(settings: Settings, round_id: str, version: str) -> None:
    """Remove a version there, so that nobody sees it half or sends it again. Within ``claimed``.

    Its name is noted, then its manifest goes and with it the version, then the rest of it.

    Raises:
        StoreError: it is the version in use there.
    """
    there = place(settings)
    if there is None:
        return
    latest = there.read(f"raw/{round_id}/latest")
    if latest is not None and latest.decode().strip() == version:
        raise StoreError(f"{settings.remote}/raw/{round_id}/{version} is in use; it stays")
    _write_pruned(there, round_id, _pruned(there, round_id) | {version})
    where = f"raw/{round_id}/{version}"
    if there.exists(f"{where}/{MANIFEST}"):
        there.filesystem.delete_file(f"{there.root}/{where}/{MANIFEST}")
    _delete(there, where)


def sweep(settings: Settings) -> int:
    """Remove what dead runs left of versions there (no manifest); gives how many. As above."""
    there = place(settings)
    if there is None:
        return 0
    left = [
        f"raw/{round_.base_name}/{info.base_name}"
        for round_ in there.names("raw")
        for info in there.names(f"raw/{round_.base_name}")
        if not info.is_file
        and not there.exists(f"raw/{round_.base_name}/{info.base_name}/{MANIFEST}")
    ]
    for where in left:
        _delete(there, where)
    return len(left)


def _delete(there: Place, where: str) -> None:
    with suppress(FileNotFoundError):
        there.filesystem.delete_dir(f"{there.root}/{where}")


def _pruned(there: Place, round_id: str) -> frozenset[str]:
    return frozenset(json.loads(there.read(f"raw/{round_id}/{_PRUNED}") or b"[]"))


def _write_pruned(there: Place, round_id: str, versions: frozenset[str]) -> None:
    there.write(f"raw/{round_id}/{_PRUNED}", json.dumps(sorted(versions)).encode())


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
