"""A round's bytes, from wherever they are: pinned first, then read one file at a time.

``pin`` finds cheaply what would be taken; ``files`` takes it. Both are the same for a Git
repository, an archive and a checked-out folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gpurank.logs.source_files import SourceFile, content_hash
from tasks.sources import archive as snapshot_archive
from tasks.sources import checkout as snapshot_tree
from tasks.sources import git as snapshot_git
from tasks.sources.archive import OutOfOrder
from tasks.sources.base import (
    Snapshot,
    SourceError,
    SourceMissing,
    SourceRefused,
    SourceUnavailable,
)
from tasks.sources.resolve import available, resolve
from tasks.sources.untrusted_archive import ENTRY_LIMIT, TOTAL_LIMIT_B

__all__ = [
    "OutOfOrder",
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
    "remote_head",
    "source_date",
]


def pin(round_id: str, source: str | os.PathLike[str] | None) -> Snapshot:
    """The round's source as it is now: where, which commit, and a fingerprint.

    ``source`` is None (the round's public repository), a Git URL or bare repository, an archive,
    a checkout, a mirror folder, or any of these with ``{round}`` in it.

    Raises:
        UnknownRound: the round's name is not ``vX.Y``.
        SourceUnavailable: a transient failure; worth another try.
        SourceMissing: nothing there for this round.
        SourceError: any other reason why it cannot be used.
    """
    location = resolve(round_id, source)
    if location.kind == "git":
        return snapshot_git.pin(round_id, location.uri)
    if location.kind == "archive":
        return snapshot_archive.pin(round_id, Path(location.uri))
    return snapshot_tree.pin(round_id, Path(location.uri))


def files(snapshot: Snapshot, cache_dir: Path, in_one_pass: bool = False) -> Iterator[SourceFile]:
    """The pinned files in path order, one in memory at a time.

    ``cache_dir`` keeps clones between runs (Git only). An error may come after files were given:
    publish nothing before the iterator has ended. ``in_one_pass`` unpacks an archive once instead
    of twice, where its own order allows.

    Raises:
        OutOfOrder: it does not (only ``in_one_pass``); begin again without.
        SourceUnavailable: a transient failure; worth another try.
        SourceError: damaged, changed since it was pinned, or without a single file to take.
    """
    if snapshot.kind == "git":
        taken = snapshot_git.files(snapshot, cache_dir)
    elif snapshot.kind == "archive":
        read = snapshot_archive.streamed if in_one_pass else snapshot_archive.files
        taken = read(snapshot)
    else:
        taken = snapshot_tree.files(snapshot)
    count = size_b = 0
    for file in taken:
        count += 1
        size_b += file.byte_count
        if count > ENTRY_LIMIT or size_b > TOTAL_LIMIT_B:
            raise SourceError(
                f"{snapshot.uri} holds more than {ENTRY_LIMIT} files or {TOTAL_LIMIT_B >> 30} GiB, "
                "which no round does; check the source"
            )
        yield file
    if not count:
        raise SourceError(
            f"{snapshot.uri} holds no file of a round (nothing below results/ or systems/); check "
            f"that it is the source of {snapshot.round_id}"
        )


def source_date(snapshot: Snapshot, cache_dir: Path) -> str | None:
    """When the source got these bytes: its commit's time, UTC; None where it does not tell.

    Ask after ``files``: a remote tells a commit's time only with the commit.
    """
    if snapshot.kind == "git":
        return snapshot_git.committed_at(snapshot, cache_dir)
    return snapshot.committed_at


def remote_head(round_id: str, source: str | os.PathLike[str] | None) -> str:
    """Commit of the default branch of the round's repository; asks, fetches nothing.

    Raises:
        SourceUnavailable: no answer (never taken for "no such round").
        SourceMissing: there is no such repository.
        SourceError: the source is no Git repository, or it has no commit.
    """
    location = resolve(round_id, source)
    if location.kind != "git":
        raise SourceError(f"{location.uri} is no Git repository with a head to ask for; pin it")
    return snapshot_git.remote_head(location.uri)
