"""Reads a round from a checked-out folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
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
from tasks.sources.git_directory import check_remote
from tasks.sources.git_objects import list_files
from tasks.sources.identity import README_LIMIT_B, check_contents, is_readme


def pin(round_id: str, path: Path) -> Snapshot:
    """Pins a folder by the content of its files of interest (reads them all once).

    The commit is the checkout's HEAD if the folder holds exactly HEAD's files of interest, byte
    for byte. A sparse checkout or a changed one has no commit. Without a repository it is the
    commit in the folder's name, if there is one.

    Raises:
        SourceError: a file cannot be read, or the clone's remote is another round's.
    """
    git_dir = path / ".git"
    is_repository = git_dir.exists()
    if is_repository:
        check_remote(round_id, git_dir, str(path))
    blobs: dict[str, str | None] = {}
    pairs = []
    for file in _read(path):
        pairs.append((file.path, file.content_id))
        blobs[file.path] = None if file.withheld_reason else _blob_id(file.data)
    commit = _head_of(git_dir, blobs) if is_repository else commit_in_name(path.name)
    committed_at = commit_time(f"--git-dir={git_dir}", commit) if is_repository and commit else None
    fingerprint = f"content:{content_hash(pairs)}"
    return Snapshot(round_id, "tree", str(path), commit, fingerprint, committed_at)


def files(snapshot: Snapshot) -> Iterator[SourceFile]:
    """Yields the folder's files in path order.

    Raises:
        SourceError: a file cannot be read, the contents are another round's, or the folder
            changed since it was pinned. The latter two are known only after the last file.
    """
    path = Path(snapshot.uri)
    pairs = []
    for file in _read(path):
        pairs.append((file.path, file.content_id))
        yield file
    check_contents(snapshot.round_id, (name for name, _ in pairs), _readme_of(path), snapshot.uri)
    if f"content:{content_hash(pairs)}" != snapshot.fingerprint:
        raise SourceError(
            f"{snapshot.uri} changed while it was read; run again when nothing writes to it"
        )


def _readme_of(folder: Path) -> bytes | None:
    with os.scandir(folder) as entries:
        names = sorted(
            entry.name
            for entry in entries
            if is_readme(entry.name) and entry.is_file(follow_symlinks=False)
        )
    if not names:
        return None
    with (folder / names[0]).open("rb") as stream:
        return stream.read(README_LIMIT_B)


def _blob_id(data: bytes) -> str:
    """Returns the id that Git gives a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _read(root: Path) -> Iterator[SourceFile]:
    try:
        listing = sorted(_walk(root, b""), key=lambda pair: path_order(pair[0]))
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
    """Yields (path, location) of every file of interest; links are never followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            raw = below + os.fsencode(entry.name)
            if not entry.is_dir(follow_symlinks=False):
                path = readable_path(raw)
                if interest(path) is not None:
                    yield path, Path(entry.path)
            elif entry.name != ".git":
                yield from _walk(Path(entry.path), raw + b"/")


def _head_of(git_dir: Path, blobs: Mapping[str, str | None]) -> str | None:
    """Returns HEAD if a folder's files of interest are exactly HEAD's, else None.

    ``blobs`` gives the blob id of each file by path, None for one whose content was not read.
    """
    try:
        head = local_git(f"--git-dir={git_dir}", "rev-parse", "--verify", "-q", "HEAD^{commit}")
        commit = head.decode().strip()
        committed = {
            blob.path: blob.object_id for blob in list_files(git_dir, commit, str(git_dir)).blobs
        }
    except (GitFailed, SourceError):
        return None
    is_same = committed.keys() == blobs.keys() and all(
        object_id in (None, committed[path]) for path, object_id in blobs.items()
    )
    return commit if is_same else None
