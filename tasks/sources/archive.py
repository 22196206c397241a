"""A round read from an archive: streamed, never unpacked, trusted in nothing.

``streamed`` gives the files of an archive that holds them in path order in one pass. Any other
takes two with ``files``: the first lists the names and proves the archive whole, the second gives
the files in path order.
"""

from __future__ import annotations

import hashlib
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from gpurank.declared.rounds import declared_rounds
from gpurank.errors import GpurankError
from gpurank.logs.source_files import (
    MIB,
    SourceFile,
    interest,
    path_order,
    size_limit,
    withheld_for_size,
    withheld_link,
)
from tasks.sources.base import (
    Snapshot,
    SourceError,
    check_paths,
    check_round,
    commit_in_name,
    is_commit,
)
from tasks.sources.untrusted_archive import Refused, clean, content, entries, opened, readable

# Files that come before their turn wait compressed; beyond this, in an unnamed temporary file.
WAITING_IN_MEMORY_B = 32 * MIB
# A whole repository lists some 10 MiB of names.
NAMES_LIMIT_B = 128 * MIB


def _spool() -> IO[bytes]:
    return SpooledTemporaryFile(WAITING_IN_MEMORY_B)


@dataclass(slots=True)
class _Waiting:
    """Files that came before their turn, compressed, in memory or beyond it on disk."""

    spool: IO[bytes] = field(default_factory=_spool)
    places: dict[str, tuple[int, int, SourceFile]] = field(default_factory=dict)

    def put(self, file: SourceFile) -> None:
        packed = zlib.compress(file.data, 1)
        try:
            start = self.spool.seek(0, 2)
            self.spool.write(packed)
        except OSError as error:
            raise SourceError(
                f"the temporary folder cannot hold {file.path!r} until its turn "
                f"({error.strerror}); make room, or set TMPDIR"
            ) from None
        empty = SourceFile(
            file.path, b"", file.withheld_reason, file.withheld_byte_count, file.withheld_sha256
        )
        self.places[file.path] = (start, len(packed), empty)

    def pop(self, path: str) -> SourceFile | None:
        if path not in self.places:
            return None
        start, length, file = self.places.pop(path)
        if file.withheld_reason:
            return file
        self.spool.seek(start)
        return SourceFile(path, zlib.decompress(self.spool.read(length)))


def pin(round_id: str, path: Path) -> Snapshot:
    """Pin an archive by its own bytes; the commit from its comment or its top folder's name.

    Raises:
        SourceError: unreadable, no archive, or another round's by its top folder.
    """
    with opened(path) as raw:
        fingerprint = f"sha256:{hashlib.file_digest(raw, 'sha256').hexdigest()}"
        raw.seek(0)
        for archive, entry in entries(raw, path):
            top = clean(entry.name).partition("/")[0]
            if not top:
                continue
            comment = archive.pax_headers.get("comment", "").strip()
            check_round(round_id, top, str(path))
            if not is_commit(comment):
                named = commit_in_name(top)
                return Snapshot(round_id, "archive", str(path), named, fingerprint)
            made_at = _moment(entry.mtime)
            return Snapshot(round_id, "archive", str(path), comment, fingerprint, made_at)
    raise SourceError(f"{path} is an empty archive; get it again")


def _moment(mtime: float) -> str | None:
    """The time of an entry, UTC, ISO: in an archive that Git made, its commit's; None if none."""
    try:
        return datetime.fromtimestamp(int(mtime), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


class OutOfOrder(GpurankError):
    """An archive does not hold its files in path order; what was taken so far is void."""


def streamed(snapshot: Snapshot) -> Iterator[SourceFile]:
    """The archive's files in path order from one pass over it; whole only once it has ended.

    Raises:
        OutOfOrder: the archive's order is another one; begin again with ``files``.
        SourceError: as ``files``, and also after files were given.
    """
    path = Path(snapshot.uri)
    with opened(path) as raw:
        _check_fingerprint(raw, snapshot)
        raw.seek(0)
        names = _Names(path)
        top: str | None = None
        before = ""
        # What is damaged shows while a file is taken, too: nothing has proved the archive before.
        with readable(path):
            for archive, entry in entries(raw, path):
                if entry.isdir():
                    continue
                names.add(name := clean(entry.name))
                if top is None and interest(name):
                    top = f"{name.partition('/')[0]}/"
                inner = name.removeprefix(top or "")
                if interest(inner):
                    if path_order(inner) <= before:
                        raise OutOfOrder
                    before = path_order(inner)
                    yield _file(archive, entry, inner)
            if _top_folder(snapshot.round_id, names.found, path) != top:
                raise OutOfOrder


def _check_fingerprint(raw: BufferedReader, snapshot: Snapshot) -> None:
    if f"sha256:{hashlib.file_digest(raw, 'sha256').hexdigest()}" != snapshot.fingerprint:
        raise SourceError(f"{snapshot.uri} changed since it was pinned; run again when it is whole")


@dataclass(slots=True)
class _Names:
    """The names of an archive's entries, within a limit."""

    path: Path
    found: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, name: str) -> None:
        self.found.append(name)
        self.length += len(name)
        if self.length > NAMES_LIMIT_B:
            raise SourceError(f"{self.path} lists more names than any round; check the source")


def files(snapshot: Snapshot) -> Iterator[SourceFile]:
    """The archive's files in path order; nothing is given before the archive is proved whole.

    Raises:
        SourceError: damaged, cut off, hostile, or not the file that was pinned.
    """
    path = Path(snapshot.uri)
    with opened(path) as raw:
        _check_fingerprint(raw, snapshot)
        top, order = _listing(snapshot.round_id, raw, path)
        turn, waiting = 0, _Waiting()
        with waiting.spool:
            for file in _taken(raw, path, top):
                if turn == len(order) or file.path != order[turn]:
                    waiting.put(file)
                    continue
                due: SourceFile | None = file
                while due is not None:
                    yield due
                    turn += 1
                    due = waiting.pop(order[turn]) if turn < len(order) else None
        if turn != len(order):
            raise SourceError(f"{path} changed while it was read; run again when it is whole")


def _listing(round_id: str, raw: BufferedReader, path: Path) -> tuple[str, list[str]]:
    """(top folder with its slash or nothing, wanted paths in order): reads all of it once."""
    raw.seek(0)
    listed = _Names(path)
    for _, entry in entries(raw, path):
        if not entry.isdir():
            listed.add(clean(entry.name))
    names = listed.found
    with readable(path):
        top = _top_folder(round_id, names, path)
    inner = (name.removeprefix(top) for name in names)
    order = sorted((name for name in inner if interest(name)), key=path_order)
    check_paths(order, str(path))
    return top, order


def _top_folder(round_id: str, names: list[str], path: Path) -> str:
    """The one folder around the repository, with its slash; nothing where there is none."""
    wanted = [name for name in names if "/" in name and interest(name)]
    tops = {name.partition("/")[0] for name in wanted}
    named = sorted(top for top in tops if top.startswith("training_results_"))
    for top in named:
        check_round(round_id, top, str(path))
    if named and len(tops) > 1:
        raise Refused(f"has more than one top folder: {', '.join(sorted(tops)[:4])}")
    if len(tops) != 1:
        return ""
    top = next(iter(tops))
    if named or commit_in_name(top):
        return f"{top}/"
    if top == declared_rounds().get(round_id).top_folder:
        return ""
    # One submitter alone is no wrapping: its results stand right below it.
    seconds = {name.split("/")[1] for name in wanted}
    return "" if seconds & {"results", "systems"} else f"{top}/"


def _taken(raw: BufferedReader, path: Path, top: str) -> Iterator[SourceFile]:
    """The wanted files in the archive's order."""
    raw.seek(0)
    for archive, entry in entries(raw, path):
        name = clean(entry.name)[len(top) :]
        if not entry.isdir() and interest(name):
            yield _file(archive, entry, name)


def _file(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: str) -> SourceFile:
    if entry.issym() or entry.islnk():
        kind = "symbolic link" if entry.issym() else "hard link"
        return withheld_link(path, kind, entry.linkname.encode("utf-8", "surrogateescape"))
    stream = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
    if stream is None:
        return withheld_link(path, "not a regular file")
    if entry.size <= size_limit(path):
        return SourceFile(path, content(archive, entry))
    digest = hashlib.sha256()
    while part := stream.read(MIB):
        digest.update(part)
    return withheld_for_size(path, entry.size, digest.hexdigest())
