"""A data folder on object storage: a local copy is filled before a run and sent after it.

``GPURANK_HOME=s3://bucket/prefix``, or an address of Google Cloud or Azure storage. A version is
sent file by file, its manifest last, and the round's pointer after that, so that a reader sees a
version whole or not at all. Objects are replaced whole and never edited. With a folder on disk
every function here does nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpurank.settings import Settings
from gpurank.store.claim import Claim, claim_holder, hold_claim
from gpurank.store.object_folder import ObjectFolder, open_folder
from gpurank.store.run_lock import Owner
from gpurank.store.versions import MANIFEST, Store, StoreError, damage, read_manifest

_POINTERS = ("seen.json", "published.json", "latest")
# Versions that were removed: other machines may still hold them and must not send them again.
_PRUNED = "pruned.json"
_ATTEMPTS = 3
_SHARED = ("watch.json", "rounds.lock.yml")

# The claims that this process holds, by address.
_claims: dict[str, Claim] = {}


def remote_folder(settings: Settings) -> ObjectFolder | None:
    """Returns the object store's folder that a data folder is a copy of; None for one on disk.

    Raises:
        StoreError: the address cannot be used.
    """
    return None if settings.remote is None else open_folder(settings.remote)


def pull(settings: Settings) -> None:
    """Fetches what the local copy lacks: versions, pointers, records and the warehouse."""
    folder = remote_folder(settings)
    if folder is None:
        return
    for round_id in folder.folders("raw"):
        pull_round(settings, round_id, folder)
    settings.home.mkdir(parents=True, exist_ok=True)
    for name in _SHARED:
        _fetch(folder, name, settings.home / name)
    refresh(settings, folder)


def pull_round(settings: Settings, round_id: str, folder: ObjectFolder | None = None) -> None:
    """Fetches one round: first its pointers are read, then its versions, which never change.

    Raises:
        StoreError: the version that the pointer names does not exist.
    """
    folder = folder or remote_folder(settings)
    if folder is None:
        return
    store = Store(settings.raw_dir)
    for _ in range(_ATTEMPTS):
        pointers = {name: folder.read(f"raw/{round_id}/{name}") for name in _POINTERS}
        for version in folder.folders(f"raw/{round_id}"):
            _pull_version(store, round_id, version, folder)
        latest = (pointers["latest"] or b"").decode().strip()
        # A version that was replaced and pruned meanwhile: by now the pointer names another one.
        if not latest or (store.folder(round_id, latest) / MANIFEST).is_file():
            break
    else:
        raise StoreError(
            f"{settings.remote}/raw/{round_id}/latest names {latest}, which is not there; restore "
            "that version, or write the id of one that is there into latest"
        )
    for name, data in pointers.items():
        if data is not None:
            _write_file(settings.raw_dir / round_id / name, data)


def _pull_version(store: Store, round_id: str, version: str, folder: ObjectFolder) -> None:
    """Fetches a version that is complete there and not here; skips one that is pruned meanwhile."""
    below = f"raw/{round_id}/{version}"
    is_here = (store.folder(round_id, version) / MANIFEST).is_file()
    if is_here or not folder.exists(f"{below}/{MANIFEST}"):
        return
    with store.building(round_id) as building:
        for name in folder.files(below):
            _fetch(folder, f"{below}/{name}", building / name)
        if (building / MANIFEST).is_file() and (
            not damage(building, read_manifest(building)) or folder.exists(f"{below}/{MANIFEST}")
        ):
            building.rename(store.folder(round_id, version))


def push_round(settings: Settings, round_id: str) -> None:
    """Sends a round's versions that are not there yet, then its pointers, ``latest`` last.

    Raises:
        StoreError: this process has lost its claim, or the store cannot be reached.
    """
    folder = remote_folder(settings)
    if folder is None:
        return
    _check_claim(folder)
    root, pruned = settings.raw_dir / round_id, _read_pruned(folder, round_id)
    latest = Store(settings.raw_dir).latest(round_id)
    in_use = latest.version_id if latest else None
    for manifest in sorted(root.glob(f"[!.]*/{MANIFEST}")):
        version = manifest.parent.name
        below = f"raw/{round_id}/{version}"
        if folder.exists(f"{below}/{MANIFEST}") or (version in pruned and version != in_use):
            continue
        for path in sorted(manifest.parent.iterdir()):
            if path.name != MANIFEST:
                folder.write(f"{below}/{path.name}", path.read_bytes())
        folder.write(f"{below}/{MANIFEST}", manifest.read_bytes())
    if in_use in pruned:
        # The source went back to the bytes of a version that was removed.
        _write_pruned(folder, round_id, pruned - {in_use})
    for name in _POINTERS:
        if (root / name).is_file():
            folder.write(f"raw/{round_id}/{name}", (root / name).read_bytes())


def remove(settings: Settings, round_id: str, version: str) -> None:
    """Removes a version there, so that nobody sees part of it or sends it again.

    Call it within ``claimed``. Its name is noted, then its manifest goes and with it the version,
    then its other files.

    Raises:
        StoreError: it is the version in use there, or this process has lost its claim.
    """
    folder = remote_folder(settings)
    if folder is None:
        return
    _check_claim(folder)
    latest = folder.read(f"raw/{round_id}/latest")
    if latest is not None and latest.decode().strip() == version:
        raise StoreError(f"{settings.remote}/raw/{round_id}/{version} is in use; it stays")
    _write_pruned(folder, round_id, _read_pruned(folder, round_id) | {version})
    below = f"raw/{round_id}/{version}"
    folder.delete(f"{below}/{MANIFEST}")
    folder.delete_folder(below)


def sweep(settings: Settings) -> int:
    """Removes the version folders without a manifest that dead runs left; returns their number.

    Call it within ``claimed``.
    """
    folder = remote_folder(settings)
    if folder is None:
        return 0
    _check_claim(folder)
    incomplete = [
        f"raw/{round_id}/{version}"
        for round_id in folder.folders("raw")
        for version in folder.folders(f"raw/{round_id}")
        if not folder.exists(f"raw/{round_id}/{version}/{MANIFEST}")
    ]
    for below in incomplete:
        folder.delete_folder(below)
    return len(incomplete)


def push_records(settings: Settings) -> None:
    """Sends the warehouse and the records other than versions.

    Raises:
        StoreError: this process has lost its claim, or the store cannot be reached.
    """
    folder = remote_folder(settings)
    if folder is None or settings.output is not None:
        return
    _check_claim(folder)
    for name in (*_SHARED, "warehouse.duckdb"):
        if (settings.home / name).is_file():
            folder.write(name, (settings.home / name).read_bytes())


def refresh(settings: Settings, folder: ObjectFolder | None = None) -> None:
    """Fetches the warehouse if it is not the one that the local copy was taken from."""
    folder = folder or remote_folder(settings)
    if folder is None:
        return
    stamp, stamp_path = folder.stamp("warehouse.duckdb"), settings.home / ".warehouse.seen"
    if stamp is None or (stamp_path.is_file() and stamp_path.read_text() == stamp):
        return
    settings.home.mkdir(parents=True, exist_ok=True)
    _fetch(folder, "warehouse.duckdb", settings.home / "warehouse.duckdb")
    _write_file(stamp_path, stamp.encode())


@contextmanager
def claimed(settings: Settings, command: str) -> Iterator[None]:
    """Is the only run on an object store's folder for the block (gpurank.store.claim).

    Raises:
        LockHeld: a living run holds the folder.
        StoreError: the store cannot be reached.
    """
    folder = remote_folder(settings)
    if folder is None:
        yield
        return
    with hold_claim(folder, command) as claim:
        _claims[folder.address] = claim
        try:
            yield
        finally:
            _claims.pop(folder.address, None)


def remote_holder(settings: Settings) -> tuple[Owner, float] | None:
    """Returns who holds the object store's folder and the seconds since the last renewal.

    None if it is free, or a folder on disk.

    Raises:
        StoreError: the store cannot be reached.
    """
    folder = remote_folder(settings)
    return None if folder is None else claim_holder(folder)


def _check_claim(folder: ObjectFolder) -> None:
    if claim := _claims.get(folder.address):
        claim.check()


def _read_pruned(folder: ObjectFolder, round_id: str) -> frozenset[str]:
    return frozenset(json.loads(folder.read(f"raw/{round_id}/{_PRUNED}") or b"[]"))


def _write_pruned(folder: ObjectFolder, round_id: str, versions: frozenset[str]) -> None:
    folder.write(f"raw/{round_id}/{_PRUNED}", json.dumps(sorted(versions)).encode())


def _fetch(folder: ObjectFolder, name: str, target: Path) -> None:
    data = folder.read(name)
    if data is not None:
        _write_file(target, data)


def _write_file(path: Path, data: bytes) -> None:
    temporary = path.parent / f".{path.name}.{os.getpid()}.tmp"
    temporary.write_bytes(data)
    temporary.replace(path)
