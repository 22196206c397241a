"""The files of a round, wherever they are: first pinned, then read one at a time.

``pin`` finds out cheaply what would be read; ``files`` reads it. Both work alike for Git
repositories, archives and checked-out folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gpurank.logs.source_files import SourceFile, content_hash
from tasks.sources import archive, checkout, git_directory, git_remote
from tasks.sources.base import (
    Snapshot,
    SourceError,
    SourceMissing,
    SourceRefused,
    SourceUnavailable,
)
from tasks.sources.resolve import available, is_remote, resolve
from tasks.sources.untrusted_archive import ENTRY_LIMIT, TOTAL_LIMIT_B

__all__ = [
    "Snapshot",
    "SourceError",
    "SourceFile",
    "SourceMissing",
    "SourceRefused",
    "SourceUnavailable",
    "available",
    "content_hash",
    "files",
    "pin",
    "source_date",
]

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def pin(
    round_id: str, source: str | os.PathLike[str] | None, accept_missing: bool = False
) -> Snapshot:
    """Returns the round's source as it is now: where, which commit, and a fingerprint.

    ``source`` is None (the round's public repository), a Git URL or Git directory, an archive,
    a checkout, a mirror folder, or any of these with ``{round}`` in it. ``accept_missing`` takes
    a Git directory that lacks some files: they are listed as withheld.

    Raises:
        UnknownRound: the round's name is not ``vX.Y``.
        SourceUnavailable: a transient failure; worth another try.
        SourceMissing: the source has nothing for this round.
        SourceError: the source cannot be used for any other reason.
    """
    location = resolve(round_id, source)
    if location.kind == "archive":
        return archive.pin(round_id, Path(location.uri))
    if location.kind == "tree":
        return checkout.pin(round_id, Path(location.uri))
    if is_remote(location.uri):
        return git_remote.pin(round_id, location.uri)
    return git_directory.pin(round_id, Path(location.uri), accept_missing)


def files(snapshot: Snapshot, cache_dir: Path) -> Iterator[SourceFile]:
    """Yields the pinned files in path order, one in memory at a time.

    ``cache_dir`` holds partial clones between runs and an archive's unpacked files during the
    call. An error may come after some files: publish nothing before the iterator has ended.

    Raises:
        SourceUnavailable: a transient failure; worth another try.
        SourceError: the source is damaged, changed since it was pinned, is another suite's or
            round's, or holds no file to read.
    """
    count = size_b = 0
    for file in _files(snapshot, cache_dir):
        count += 1
        size_b += file.byte_count or 0
        if count > ENTRY_LIMIT or size_b > TOTAL_LIMIT_B:
            raise SourceError(
                f"{snapshot.uri} holds more than {ENTRY_LIMIT} files or {TOTAL_LIMIT_B >> 30} GiB, "
                "which no round does; check the source"
            )
        if file.data.startswith(_LFS_POINTER):
            raise SourceError(
                f"{snapshot.uri} holds a Git LFS pointer in place of {file.path}; run `git lfs "
                "pull` in a clone and give that clone's folder as the source"
            )
        yield file
    if not count:
        raise SourceError(_nothing_to_read(snapshot))


def source_date(snapshot: Snapshot, cache_dir: Path) -> str | None:
    """Returns the time of the source's commit in UTC, or None if it is unknown.

    Call it after ``files``: a remote tells a commit's time only with the commit.
    """
    if snapshot.kind == "git" and is_remote(snapshot.uri):
        return git_remote.committed_at(snapshot, cache_dir)
    return snapshot.committed_at


def _files(snapshot: Snapshot, cache_dir: Path) -> Iterator[SourceFile]:
    if snapshot.kind == "archive":
        return archive.files(snapshot, cache_dir)
    if snapshot.kind == "tree":
        return checkout.files(snapshot)
    if is_remote(snapshot.uri):
        return git_remote.files(snapshot, cache_dir)
    return git_directory.files(snapshot)


def _nothing_to_read(snapshot: Snapshot) -> str:
    git_dir = Path(snapshot.uri, ".git")
    if snapshot.kind == "tree" and git_dir.exists():
        return (
            f"{snapshot.uri} is a Git clone with no file of a round checked out; give {git_dir} "
            "as the source, or run `git checkout HEAD` there"
        )
    return (
        f"{snapshot.uri} holds no file of a round (nothing below results/ or systems/); check "
        f"that it is the source of {snapshot.round_id}"
    )
