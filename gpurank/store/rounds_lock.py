"""``rounds.lock.yml``: the source of each round, written by machine only.

It holds no times, so that it changes exactly when the bytes of a round do.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml

from gpurank.declared.rounds import round_order
from gpurank.store.versions import Manifest, write_durably

# Rounds are ingested concurrently, in threads and on clusters, and share the file.
_ONE_AT_A_TIME = threading.Lock()
_HEADER = "# Written by `gpurank`; moves only when the bytes of a round do. Do not edit.\n"


@dataclass(frozen=True, slots=True)
class Locked:
    """One round as it was read: repository commit, content hash, number and bytes of its files."""

    round_id: str
    commit: str | None
    content_hash: str
    version_id: str
    files: int
    bytes: int


def locked(manifest: Manifest) -> Locked:
    """Returns the entry of a version."""
    return Locked(
        manifest.round_id,
        manifest.source_commit,
        manifest.content_hash,
        manifest.version_id,
        manifest.file_count,
        manifest.byte_count,
    )


def read(path: Path | Traversable) -> dict[str, Locked]:
    """Reads the entries by round; none if the file is absent or unreadable."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return {name: Locked(round_id=name, **row) for name, row in document.items()}
    except (OSError, ValueError, RecursionError, yaml.YAMLError, TypeError, AttributeError):
        return {}


def shipped() -> dict[str, Locked]:
    """Reads the entries of the rounds that ship with the package."""
    return read(files("warehouse").joinpath("rounds.lock.yml"))


def write(path: Path, manifests: Iterable[Manifest]) -> None:
    """Sets the entries of some versions and keeps the others; writes nothing if none changes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _ONE_AT_A_TIME, path.with_name(f".{path.name}.lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        _write(path, manifests)


def _write(path: Path, manifests: Iterable[Manifest]) -> None:
    before = read(path)
    after = {**before, **{item.round_id: locked(item) for item in manifests}}
    if after == before and path.exists():
        return
    rows = {}
    for name in sorted(after, key=round_order):
        row = asdict(after[name])
        rows[row.pop("round_id")] = row
    write_durably(path, _HEADER + yaml.safe_dump(rows, sort_keys=False))
