"""The raw store: immutable versions of rounds and one pointer per round.

``raw/<round>/<version_id>/*.parquet`` with ``manifest.json`` written last; ``raw/<round>/latest``
names the version in use. Everything is written under a temporary name in the same folder and
renamed whole, so that a reader sees a complete version or none.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpurank.declared.rounds import UnknownRound, round_order
from gpurank.errors import Exit, GpurankError

MANIFEST = "manifest.json"
_JOURNAL = "published.json"
_TEMPORARY = ".building-"


class StoreError(GpurankError, RuntimeError):
    """The store is damaged or holds something that does not fit its manifest."""

    exit_code = Exit.STORAGE


@dataclass(frozen=True, slots=True)
class Manifest:
    """Describes a version: its source, its content, and whether it may be used.

    ``state`` is ``complete`` or ``failed`` (kept for its issues, never in use). ``form`` is
    ``full`` or ``facts`` (events reduced to those that runs refer to). ``hashes`` holds the SHA-256
    of every file beside the manifest, ``counts`` the rows per table and the result folders.
    ``source_date`` is when the source got these bytes (its commit's time, UTC; None if unknown),
    ``run_id`` the run that read them.
    """

    round_id: str
    version_id: str
    state: str
    form: str
    source_kind: str
    source_uri: str
    source_commit: str | None
    fingerprint: str
    content_hash: str
    code_hash: str
    taken_at: str
    file_count: int
    byte_count: int
    counts: Mapping[str, int] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None
    source_date: str | None = None
    run_id: str | None = None

    def to_json(self) -> str:
        """Returns the manifest as it is written to disk."""
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"


def version_id(content_hash: str, code_hash: str) -> str:
    """Returns the id of the version that some code makes of some content."""
    return f"{content_hash[:12]}-{code_hash[:8]}"


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of a version folder.

    Raises:
        StoreError: the manifest is absent or unreadable.
    """
    path = folder / MANIFEST
    try:
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        names = {item.name for item in fields(Manifest)}
        return Manifest(**{key: value for key, value in row.items() if key in names})
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(
            f"{path} is not a readable manifest ({error}); delete the folder and ingest again"
        ) from None


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def now() -> str:
    """Returns the present time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Store:
    """The versions below one folder. Writers hold the run lock (gpurank.store.run_lock)."""

    root: Path

    def rounds(self) -> tuple[str, ...]:
        """Returns the rounds that have a version in use, oldest first."""
        if not self.root.is_dir():
            return ()
        names = (path.parent.name for path in self.root.glob("*/latest"))
        return tuple(sorted(filter(_is_round, names), key=round_order))

    def versions(self, round_id: str) -> tuple[Manifest, ...]:
        """Returns every version of a round, failed ones too, by the time when it was read."""
        folders = sorted((self.root / round_id).glob(f"[!.]*/{MANIFEST}"))
        found = [read_manifest(path.parent) for path in folders]
        return tuple(sorted(found, key=lambda item: (item.taken_at, item.version_id)))

    def folder(self, round_id: str, version: str) -> Path:
        """Returns the folder of a version."""
        return self.root / round_id / version

    def latest(self, round_id: str) -> Manifest | None:
        """Returns the version in use; None if there is none.

        Raises:
            StoreError: the pointer names a version that does not exist.
        """
        try:
            name = (self.root / round_id / "latest").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        return read_manifest(self.folder(round_id, name))

    def has(self, round_id: str, version: str) -> bool:
        """Returns whether there is a complete version of this id."""
        folder = self.folder(round_id, version)
        return (folder / MANIFEST).is_file() and read_manifest(folder).state == "complete"

    def known(self, round_id: str, fingerprint: str, code_hash: str) -> Manifest | None:
        """Returns the full version that this code made of a source's fingerprint, or None."""
        version = self._seen(round_id).get(fingerprint)
        if version is None or not self.has(round_id, version):
            return None
        manifest = read_manifest(self.folder(round_id, version))
        return manifest if manifest.code_hash == code_hash and manifest.form == "full" else None

    def remember(self, round_id: str, fingerprint: str, version: str) -> None:
        """Records the version of a source's fingerprint, so that it need not be read again."""
        seen = self._seen(round_id)
        if seen.get(fingerprint) != version:
            text = json.dumps({**seen, fingerprint: version}, indent=1, sort_keys=True) + "\n"
            write_durably(self.root / round_id / "seen.json", text)

    def _seen(self, round_id: str) -> dict[str, str]:
        try:
            text = (self.root / round_id / "seen.json").read_text(encoding="utf-8")
            return {str(key): str(value) for key, value in json.loads(text).items()}
        except (FileNotFoundError, ValueError, AttributeError):
            return {}

    @contextmanager
    def building(self, round_id: str) -> Iterator[Path]:
        """Yields a temporary folder for a new version; what is left of it afterwards is removed."""
        round_order(round_id)
        folder = self.root / round_id / f"{_TEMPORARY}{os.getpid()}-{uuid.uuid4().hex[:8]}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def seal(self, building: Path, manifest: Manifest) -> Manifest:
        """Writes the manifest last, syncs all files and renames the folder.

        A complete version of this id stays as it is: same input, same code, same version. A
        failed one is replaced. Returns the manifest that is in place now.
        """
        if self.has(manifest.round_id, manifest.version_id):
            return read_manifest(self.folder(manifest.round_id, manifest.version_id))
        hashes = {path.name: file_sha256(path) for path in sorted(building.iterdir())}
        row = {**asdict(manifest), "hashes": hashes}
        sealed = Manifest(**row)
        write_durably(building / MANIFEST, sealed.to_json())
        for path in building.iterdir():
            _sync(path)
        _sync(building)
        target = self.folder(manifest.round_id, manifest.version_id)
        failed = target.parent / f"{_TEMPORARY}old-{uuid.uuid4().hex[:8]}"
        if target.exists():
            target.rename(failed)
        building.rename(target)
        _sync(target.parent)
        shutil.rmtree(failed, ignore_errors=True)
        return sealed

    def publish(self, manifest: Manifest) -> None:
        """Moves the round's pointer to a complete version.

        Raises:
            StoreError: the version failed or does not exist.
        """
        if not self.has(manifest.round_id, manifest.version_id):
            raise StoreError(
                f"{manifest.round_id} {manifest.version_id} is not complete; not published"
            )
        entries = self.journal(manifest.round_id)
        if not entries and (before := self.latest(manifest.round_id)):
            entries.append((before.version_id, before.taken_at))
        entries.append((manifest.version_id, now()))
        folder = self.root / manifest.round_id
        write_durably(folder / _JOURNAL, json.dumps(entries, indent=1) + "\n")
        write_durably(folder / "latest", manifest.version_id + "\n")

    def journal(self, round_id: str) -> list[tuple[str, str]]:
        """Returns (version id, time) of each publication, oldest first (gpurank.store.history)."""
        try:
            text = (self.root / round_id / _JOURNAL).read_text(encoding="utf-8")
            return [(str(name), str(at)) for name, at in json.loads(text)]
        except (FileNotFoundError, ValueError, TypeError):
            return []

    def sweep(self) -> int:
        """Removes what crashed runs left half-built; returns how many. Call under the run lock."""
        left = [*self.root.glob(f"*/{_TEMPORARY}*"), *self.root.glob("*/.*.tmp")]
        for path in left:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        return len(left)

    def damage(self, manifest: Manifest) -> tuple[str, ...]:
        """Says which files of a version are missing or differ from its manifest."""
        return damage(self.folder(manifest.round_id, manifest.version_id), manifest)


def damage(folder: Path, manifest: Manifest) -> tuple[str, ...]:
    """Says which files in a version's folder are missing or differ from its manifest."""
    damages = []
    for name, expected in sorted(manifest.hashes.items()):
        path = folder / name
        if not path.is_file():
            damages.append(f"{path} is missing")
        elif file_sha256(path) != expected:
            damages.append(f"{path} has other bytes than when it was written")
    return tuple(damages)


def write_durably(path: Path, text: str) -> None:
    """Writes a small file under a temporary name, syncs it, renames it."""
    temporary = path.parent / f".{path.name}.{os.getpid()}.tmp"
    temporary.write_text(text, encoding="utf-8")
    _sync(temporary)
    temporary.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_round(name: str) -> bool:
    try:
        round_order(name)
    except UnknownRound:
        return False
    return True
