"""A round read from a checked-out folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from gpurank.logs.source_files import (
    SourceFile,
    content_hash,
    interest,
    path_order,
    readable_path,
    size_limit,
    withheld_for_size,
    withheld_link,
)
from tasks.sources.base import Snapshot, SourceError, check_paths, commit_in_name
from tasks.sources.git_command import GitFailed, commit_time, local_git


def pin(round_id: str, path: Path) -> Snapshot:
    """Pin a folder by the content of the files that would be taken (reads them all once).

    The commit is the checkout's HEAD where the files are HEAD's, byte for byte; without a
    repository it is the one in the folder's name; None where neither holds.
    """
    blobs: dict[str, str] = {}
    pairs = []
    for file in _read(path):
        pairs.append((file.path, file.sha256))
        if not file.withheld_reason:
            header = f"blob {len(file.data)}\0".encode()
            blobs[file.path] = hashlib.sha1(header + file.data, usedforsecurity=False).hexdigest()
    is_repository = (path / ".git").exists()
    commit = _head_of(path, blobs) if is_repository else commit_in_name(path.name)
    known_at = (
        commit_time(f"--git-dir={path / '.git'}", commit) if is_repository and commit else None
    )
    return Snapshot(round_id, "tree", str(path), commit, f"content:{content_hash(pairs)}", known_at)


def files(snapshot: Snapshot) -> Iterator[SourceFile]:
    """The folder's files in path order.

    Raises:
        SourceError: a file cannot be read, or the folder changed since it was pinned (told at
            the end, when all has been read).
    """
    pairs = []
    for file in _read(Path(snapshot.uri)):
        pairs.append((file.path, file.sha256))
        yield file
    if f"content:{content_hash(pairs)}" != snapshot.fingerprint:
        raise SourceError(f"{snapshot.uri} changed while it was read; run again when it rests")


def _read(root: Path) -> Iterator[SourceFile]:
    try:
        listing = sorted(_walk(root, b""), key=lambda found: path_order(found[0]))
        check_paths([path for path, _ in listing], str(root))
        for path, entry in listing:
            yield _file(path, entry)
    except OSError as error:
        name = os.fsdecode(error.filename) if error.filename else str(root)
        raise SourceError(f"{name} cannot be read ({error.strerror}); check its rights") from None
    except RecursionError:
        raise SourceError(f"{root} nests deeper than any round; check the source") from None


def _file(path: str, entry: Path) -> SourceFile:
    if entry.is_symlink():
        return withheld_link(path, "symbolic link", os.fsencode(entry.readlink()))
    if not entry.is_file():
        return withheld_link(path, "not a regular file")
    with entry.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > size_limit(path):
            return withheld_for_size(path, size, hashlib.file_digest(stream, "sha256").hexdigest())
        return SourceFile(path, stream.read())


def _walk(folder: Path, below: bytes) -> Iterator[tuple[str, Path]]:
    """(path, where it is) of every entry that is taken; links are never followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            raw = below + os.fsencode(entry.name)
            if not entry.is_dir(follow_symlinks=False):
                path = readable_path(raw)
                if interest(path) is not None:
                    yield path, Path(entry.path)
            elif entry.name != ".git":
                yield from _walk(Path(entry.path), raw + b"/")


def _head_of(path: Path, blobs: dict[str, str]) -> str | None:
    """HEAD, if the files read are its files: a changed or added one is of no commit.

    Files of HEAD that are absent are allowed: a sparse checkout is still of its commit.
    """
    where = f"--git-dir={path / '.git'}"
    try:
        head = local_git(where, "rev-parse", "--verify", "-q", "HEAD^{commit}").decode().strip()
        listing = local_git(where, "ls-tree", "-r", "-z", "--full-tree", head)
    except GitFailed:
        return None
    committed = {}
    for row in listing.split(b"\0"):
        meta, _, raw = row.partition(b"\t")
        if raw:
            committed[readable_path(raw)] = meta.split(b" ")[2].decode()
    return head if all(committed.get(path) == oid for path, oid in blobs.items()) else None
