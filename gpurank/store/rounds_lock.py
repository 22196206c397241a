"""``rounds.lock.yml``: what each round was taken from, written by machine alone.

It holds no times, so that it changes when the bytes of a round do and never otherwise.
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

# Rounds are ingested side by side, in threads and on clusters, and share the file.
_ONE_AT_A_TIME = threading.Lock()
_HEADER = "# Written by `gpurank`; moves only when the bytes of a round do. Do not edit.\n"


@dataclass(frozen=True, slots=True)
class Locked:
    """One round as it was taken: repository commit, content hash, files and their bytes."""

    round_id: str
    commit: str | None
    content_hash: str
    version_id: str
    files: int
    bytes: int


def locked(manifest: Manifest) -> Locked:
    """A version's entry."""
    return Locked(
        manifest.round_id,
        manifest.source_commit,
        manifest.content_hash,
        manifest.version_id,
        manifest.file_count,
        manifest.byte_count,
    )


def read(path: Path | Traversable) -> dict[str, Locked]:
    """Entries by round; none where there is no file or it is unreadable."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return {name: Locked(round_id=name, **row) for name, row in document.items()}
    except (OSError, ValueError, RecursionError, yaml.YAMLError, TypeError, AttributeError):
        return {}


def shipped() -> dict[str, Locked]:
    """Entries of the rounds that ship with the package."""
    return read(files("warehouse").joinpath("rounds.lock.yml"))


def write(path: Path, manifests: Iterable[Manifest]) -> None:
    """Set the entries of some versions and leave the others; nothing is written if none moves."""
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
