"""Reads a commit's files from a Git directory on disk, through ``git ls-tree`` and ``cat-file``.

Never fetches: objects that are not there stay missing, and the callers decide what that means.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gpurank.logs.source_files import (
    MIB,
    SourceFile,
    interest,
    path_order,
    readable_path,
    size_limit,
    withheld_for_size,
    withheld_link,
)
from tasks.sources.base import SourceError, check_paths
from tasks.sources.git_command import (
    GitFailed,
    local_command,
    local_environment,
    local_git,
    start,
    stop,
)
from tasks.sources.identity import is_readme

LISTING_LIMIT_B = 128 * MIB  # a whole repository lists some 10 MiB of names

_LINK_MODE = "120000"


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a commit: its path, its mode, and the id of its content."""

    path: str
    mode: str
    object_id: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of interest of a commit in path order, and its README (None if there is none)."""

    blobs: tuple[Blob, ...]
    readme: Blob | None

    @property
    def paths(self) -> list[str]:
        """Paths of the files of interest."""
        return [blob.path for blob in self.blobs]


def list_files(git_dir: Path, commit: str, where: str) -> Listing:
    """Lists the files of interest of a commit; ``where`` names the source in errors.

    Raises:
        GitFailed: the commit or one of its trees is not there.
        SourceError: the listing is too long, or holds a path twice.
    """
    blobs, readmes = [], []
    for row in filter(None, _list_tree(git_dir, commit, where).split(b"\0")):
        meta, _, raw = row.partition(b"\t")
        path = readable_path(raw)
        mode, kind, object_id = meta.decode().split(" ")
        if kind == "blob" and interest(path) is not None:
            blobs.append(Blob(path, mode, object_id))
        elif kind == "blob" and is_readme(path) and mode != _LINK_MODE:
            readmes.append(Blob(path, mode, object_id))
    blobs.sort(key=lambda blob: path_order(blob.path))
    check_paths([blob.path for blob in blobs], where)
    return Listing(tuple(blobs), readmes[0] if readmes else None)


def held_objects(git_dir: Path) -> set[str]:
    """Returns the ids of all objects that are there.

    It does not ask for sizes: in a partial clone that would make git fetch what is missing.

    Raises:
        GitFailed: the objects cannot be listed.
    """
    output = local_git(
        f"--git-dir={git_dir}",
        *("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"),
    )
    return set(output.decode().split())


def read_blob(git_dir: Path, blob: Blob | None, held: set[str]) -> bytes | None:
    """Returns the content of a blob; None if there is none or it is not among the held objects.

    Raises:
        GitFailed: the content is damaged.
    """
    if blob is None or blob.object_id not in held:
        return None
    return local_git(f"--git-dir={git_dir}", "cat-file", "blob", blob.object_id)


def read_files(git_dir: Path, blobs: Sequence[Blob]) -> Iterator[SourceFile]:
    """Yields the files of some blobs in the given order, one at a time.

    Raises:
        GitFailed: a content is damaged or missing.
    """
    with tempfile.TemporaryFile() as request:
        request.write("".join(f"{blob.object_id}\n" for blob in blobs).encode())
        request.seek(0)
        command = local_command(f"--git-dir={git_dir}", "cat-file", "--batch")
        process = start(command, local_environment(), stdin=request.fileno())
        try:
            assert process.stdout is not None
            for blob in blobs:
                yield _read_file(process.stdout, blob)
        finally:
            stop(process)


def _list_tree(git_dir: Path, commit: str, where: str) -> bytes:
    """Returns the output of ``ls-tree -r -z``, up to a limit: trees in each other never end."""
    command = local_command(f"--git-dir={git_dir}", "ls-tree", "-r", "-z", "--full-tree", commit)
    process = start(command, local_environment(), subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        listing = process.stdout.read(LISTING_LIMIT_B + 1)
        if len(listing) > LISTING_LIMIT_B:
            raise SourceError(f"{where} lists more names than any round; check the source")
        if process.wait():
            raise GitFailed(f"the trees of commit {commit} cannot be listed")
        return listing
    finally:
        stop(process)


def _read_file(pipe: IO[bytes], blob: Blob) -> SourceFile:
    header = pipe.readline().split()
    if len(header) != 3 or header[1] != b"blob":
        raise GitFailed(f"{blob.path}: its content {blob.object_id} is damaged or missing")
    size = int(header[2])
    if size <= size_limit(blob.path):
        data = pipe.read(size + 1)
        if len(data) != size + 1:
            raise GitFailed(f"{blob.path}: its content {blob.object_id} ends early")
        if blob.mode == _LINK_MODE:
            return withheld_link(blob.path, "symbolic link", data[:-1])
        return SourceFile(blob.path, data[:-1])
    digest, left = hashlib.sha256(), size
    while left:
        part = pipe.read(min(left, MIB))
        if not part:
            raise GitFailed(f"{blob.path}: its content {blob.object_id} ends early")
        digest.update(part)
        left -= len(part)
    pipe.read(1)
    return withheld_for_size(blob.path, size, digest.hexdigest())
