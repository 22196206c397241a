"""Reads a round from an archive, which is treated as hostile.

The archive is unpacked once, from start to end, into one unnamed temporary file in the data
folder: no name in the archive ever becomes a name on disk, and the operating system removes the
file even if the process is killed. Only when the archive has proved to be whole are its files
read from there, in path order.
"""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import IO

from gpurank.declared.rounds import declared_rounds
from gpurank.logs.source_files import (
    MIB,
    SourceFile,
    interest,
    path_order,
    size_limit,
    withheld_for_size,
    withheld_link,
)
from tasks.sources.base import Snapshot, SourceError, check_paths, commit_in_name, is_commit
from tasks.sources.identity import check_contents, check_name, is_readme, is_repository_name
from tasks.sources.untrusted_archive import (
    Refused,
    clean_name,
    entries,
    explain_errors,
    open_archive,
    read_entry,
)

# A whole repository lists some 10 MiB of names.
NAMES_LIMIT_B = 128 * MIB


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of an archive: its name there, and where its bytes are in the temporary file.

    ``withheld`` is set where the file is listed without its bytes.
    """

    name: str
    start: int = 0
    byte_count: int = 0
    withheld: SourceFile | None = None

    def read(self, unpacked: IO[bytes], path: str) -> SourceFile:
        """Returns the file under its path below the archive's top folder."""
        if self.withheld is not None:
            return replace(self.withheld, path=path)
        unpacked.seek(self.start)
        return SourceFile(path, unpacked.read(self.byte_count))


def pin(round_id: str, path: Path) -> Snapshot:
    """Pins an archive by its bytes; its comment or its top folder's name gives the commit.

    Raises:
        SourceError: the file is unreadable, not an archive, or another round's by its top folder.
    """
    with open_archive(path) as raw:
        fingerprint = f"sha256:{hashlib.file_digest(raw, 'sha256').hexdigest()}"
        raw.seek(0)
        for archive, entry in entries(raw, path):
            top = clean_name(entry.name).partition("/")[0]
            if not top:
                continue
            comment = archive.pax_headers.get("comment", "").strip()
            check_name(round_id, top, str(path), "top folder")
            if not is_commit(comment):
                return Snapshot(round_id, "archive", str(path), commit_in_name(top), fingerprint)
            committed_at = _entry_time(entry.mtime)
            return Snapshot(round_id, "archive", str(path), comment, fingerprint, committed_at)
    raise SourceError(f"{path} is an empty archive; get it again")


def _entry_time(mtime: float) -> str | None:
    """Returns an entry's time in UTC, ISO 8601, or None if it is beyond the calendar.

    Git gives every entry of an archive the time of the commit.
    """
    try:
        return datetime.fromtimestamp(int(mtime), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def files(snapshot: Snapshot, cache_dir: Path) -> Iterator[SourceFile]:
    """Yields the archive's files in path order, none before the archive has proved to be whole.

    Raises:
        SourceError: the archive is damaged, cut off, hostile, another round's, or not the file
            that was pinned; or the disk has no room to unpack it.
    """
    path = Path(snapshot.uri)
    with open_archive(path) as raw, _temporary_file(cache_dir, path) as unpacked:
        if f"sha256:{hashlib.file_digest(raw, 'sha256').hexdigest()}" != snapshot.fingerprint:
            raise SourceError(f"{path} changed since it was pinned; run again when it is complete")
        raw.seek(0)
        with explain_errors(path):
            members, readmes = _unpack(raw, path, unpacked)
            top = _top_folder(snapshot.round_id, [member.name for member in members], path)
        below_top = ((member.name.removeprefix(top), member) for member in members)
        wanted = [(name, member) for name, member in below_top if interest(name)]
        wanted.sort(key=lambda pair: path_order(pair[0]))
        paths = [name for name, _ in wanted]
        check_paths(paths, str(path))
        readme = next((item for item in readmes if is_readme(item.name.removeprefix(top))), None)
        text = readme.read(unpacked, readme.name).data if readme else None
        check_contents(snapshot.round_id, paths, text, str(path))
        for name, member in wanted:
            yield member.read(unpacked, name)


@contextmanager
def _temporary_file(cache_dir: Path, path: Path) -> Iterator[IO[bytes]]:
    """Opens an unnamed file in the cache folder; it vanishes with this process at the latest."""
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        file = tempfile.TemporaryFile(dir=cache_dir)  # noqa: SIM115 (closed below)
    except OSError as error:
        raise SourceError(
            f"{cache_dir} cannot be used to unpack {path} ({error.strerror}); check its rights"
        ) from None
    with file:
        yield file


def _unpack(
    raw: BufferedReader, path: Path, unpacked: IO[bytes]
) -> tuple[list[_Member], list[_Member]]:
    """Writes the archive's files one after the other into a temporary file.

    Returns the files of interest and the READMEs that may be the top one. The top folder is only
    known at the end, so that some of them may turn out not to be wanted.
    """
    members: list[_Member] = []
    readmes: list[_Member] = []
    names_b = 0
    for archive, entry in entries(raw, path):
        name = clean_name(entry.name)
        if entry.isdir():
            continue
        if interest(name) is not None:
            target = members
        elif entry.isreg() and name.count("/") < 2 and is_readme(name.rpartition("/")[2]):
            target = readmes
        else:
            continue
        names_b += len(name)
        if names_b > NAMES_LIMIT_B:
            raise SourceError(f"{path} lists more names than any round; check the source")
        target.append(_unpack_entry(archive, entry, name, unpacked, path))
    return members, readmes


def _unpack_entry(
    archive: tarfile.TarFile, entry: tarfile.TarInfo, name: str, unpacked: IO[bytes], path: Path
) -> _Member:
    if entry.issym() or entry.islnk():
        kind = "symbolic link" if entry.issym() else "hard link"
        target = entry.linkname.encode("utf-8", "surrogateescape")
        return _Member(name, withheld=withheld_link(name, kind, target))
    stream = archive.extractfile(entry) if entry.isreg() and not entry.issparse() else None
    if stream is None:
        return _Member(name, withheld=withheld_link(name, "not a regular file"))
    if interest(name) is None or entry.size <= size_limit(name):
        data = read_entry(archive, entry)
        start = unpacked.tell()
        try:
            unpacked.write(data)
            unpacked.flush()
        except OSError as error:
            raise SourceError(
                f"the data folder has no room to unpack {path} ({error.strerror}); free some space"
            ) from None
        return _Member(name, start, len(data))
    digest = hashlib.sha256()
    while part := stream.read(MIB):
        digest.update(part)
    return _Member(name, withheld=withheld_for_size(name, entry.size, digest.hexdigest()))


def _top_folder(round_id: str, names: Sequence[str], path: Path) -> str:
    """Returns the one folder around the repository, with its slash; "" if there is none.

    ``names`` are those of the files of interest.
    """
    names = [name for name in names if "/" in name]
    tops = {name.partition("/")[0] for name in names}
    named = sorted(top for top in tops if is_repository_name(top))
    for top in named:
        check_name(round_id, top, str(path), "top folder")
    if named and len(tops) > 1:
        raise Refused(f"has more than one top folder: {', '.join(sorted(tops)[:4])}")
    if len(tops) != 1:
        return ""
    top = next(iter(tops))
    if named or commit_in_name(top):
        return f"{top}/"
    if top == declared_rounds().get(round_id).top_folder:
        return ""
    # A folder right above results/ or systems/ is a submitter, the only one of this archive.
    seconds = {name.split("/")[1] for name in names}
    return "" if seconds & {"results", "systems"} else f"{top}/"
