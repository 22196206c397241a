"""The files of a round's source: which of them count, their order, and the hash of them all.

One rule for every kind of source, so that a repository, an archive of it and a checkout of it
yield the same files in the same order: folder by folder (``path_order``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gpurank.declared.unsafe_text import CONTROL_CHARACTERS

MIB = 1 << 20

#: A file beyond this is listed without its bytes. The largest published log known has tens of
#: MiB, and the public host takes no file above 100 MB: anything beyond is not a log.
FILE_LIMIT_B = 128 * MIB
#: A stray (a name that no log or description has) is hashed and named, but not read.
STRAY_LIMIT_B = 1 * MIB

_FOLDERS = frozenset({"results", "systems"})
_ENTRY_NAMES = frozenset({"entry.json", "submission.json"})
_DATA_SUFFIXES = frozenset({"txt", "json", "log", "out", "csv"})
# Pictures, programs and packed files hold nothing that a log or a description does not.
_PICTURES = "png jpg jpeg gif svg pdf bmp webp ico tif tiff"
_PROGRAMS = (
    "sh bash py ipynb awk pl r rb lua js ts java go rs c cc cpp cxx cu h hh hpp cuh m "
    "sub sbatch slurm ps1 bat cmake mk patch diff so o a whl"
)
_PACKED = "zip tar gz tgz bz2 xz zst 7z rar"
_LEFT_OUT_SUFFIXES = frozenset(f"{_PICTURES} {_PROGRAMS} {_PACKED}".split())

# The @ of each address, also where one address is part of another.
_AT_SIGN = re.compile(r"([\w.+-])@(?=[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2})")
_STEERING = re.compile(f"[\t\n{CONTROL_CHARACTERS}]")

Interest = Literal["data", "stray"]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a round's source.

    ``path`` is relative to the repository's root, with ``/``, and valid Unicode (bytes that are
    not UTF-8 stand as ``\\xNN``). Where ``withheld_reason`` is set the file was not taken: ``data``
    is empty, while ``byte_count`` and ``sha256`` are still the real file's (of a link: of the name
    it points to). Of a file that is missing from its copy of the repository they are unknown, and
    ``git_blob`` names its content.
    """

    path: str
    data: bytes
    withheld_reason: str | None = None
    withheld_byte_count: int | None = None
    withheld_sha256: str | None = None
    git_blob: str | None = None

    @property
    def byte_count(self) -> int | None:
        """Size of the file, B; None where it is unknown."""
        return self.withheld_byte_count if self.withheld_reason else len(self.data)

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the file's bytes, hexadecimal; computed on each call. None if unknown."""
        if self.withheld_reason:
            return self.withheld_sha256
        return hashlib.sha256(self.data).hexdigest()

    @property
    def content_id(self) -> str:
        """What stands for the file's content in ``content_hash``."""
        return content_id(self.sha256, self.git_blob)


def interest(path: str) -> Interest | None:
    """Returns whether a path is data or a stray; None where the file is not listed at all.

    Listed are files below a folder ``results`` or ``systems`` and v0.5's ``entry.json`` and
    ``submission.json`` anywhere. There, ``.txt .json .log .out .csv`` and names without a suffix
    (markers such as ``.gitkeep``) are data; pictures, programs and packed files are left out;
    every other file is a stray, which is recorded with its hash.
    """
    *folders, name = path.split("/")
    if name in _ENTRY_NAMES:
        return "data"
    if _FOLDERS.isdisjoint(folder.lower() for folder in folders):
        return None
    stem, _, suffix = name.rpartition(".")
    suffix = suffix.lower() if stem else ""
    if not suffix or suffix in _DATA_SUFFIXES:
        return "data"
    return None if suffix in _LEFT_OUT_SUFFIXES else "stray"


def size_limit(path: str) -> int:
    """Returns the largest size up to which a listed file is read, B."""
    return STRAY_LIMIT_B if interest(path) == "stray" else FILE_LIMIT_B


def withheld_for_size(path: str, byte_count: int, sha256: str) -> SourceFile:
    """Returns a file that is listed without its bytes because it is too large."""
    reason = f"larger than {size_limit(path) // MIB} MiB"
    return SourceFile(path, b"", reason, byte_count, sha256)


def withheld_link(path: str, reason: str, target: bytes = b"") -> SourceFile:
    """Returns a link, or another entry without bytes of its own; it is never followed."""
    return SourceFile(path, b"", reason, len(target), hashlib.sha256(target).hexdigest())


def withheld_as_missing(path: str, git_blob: str) -> SourceFile:
    """Returns a file whose content, a Git blob, is missing from this copy of the repository."""
    reason = f"missing from this copy of the repository (Git blob {git_blob})"
    return SourceFile(path, b"", reason, git_blob=git_blob)


def content_id(sha256: str | None, git_blob: str | None) -> str:
    """Returns what stands for a file's content in ``content_hash``: its SHA-256 where it is known.

    The Git blob of a missing file is the id of its content, too, so that a complete copy of the
    same commit has another content hash, and equally incomplete copies have the same one.
    """
    return f"git:{git_blob}" if sha256 is None else sha256


def readable_path(raw: bytes) -> str:
    """Returns a path's bytes as valid Unicode; bytes that are not UTF-8 become ``\\xNN``.

    So do characters that steer a terminal or hide what follows, and the @ of what looks like an
    e-mail address: none is ever stored.
    """
    text = raw.decode("utf-8", "backslashreplace")
    text = _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
    return _AT_SIGN.sub(r"\1\\x40", text)


def path_order(path: str) -> str:
    """Returns the sort key of a path: the names of its folders, one after the other.

    It keeps a folder's files together, also where another folder's name begins with its name
    (``a/x`` before ``a-b/x``). Archives of a folder on disk have this order; Git's do not.
    """
    return path.replace("/", "\0")


def content_hash(files: Iterable[tuple[str, str]]) -> str:
    """Returns the SHA-256 over one line ``<content id>  <path>`` per file, hexadecimal.

    It depends on names and bytes alone, not on the order of the files, their dates or how an
    archive was packed.

    Args:
        files: (path, content id) of each file; the id is its SHA-256 (see ``content_id``).

    Raises:
        ValueError: a path occurs twice.
    """
    digest = hashlib.sha256()
    previous: str | None = None
    for path, identifier in sorted(files):
        if path == previous:
            raise ValueError(f"{path!r} occurs twice; a content hash needs one file per path")
        previous = path
        # As sha256sum does: a line break in a name must not look like another file's line.
        escaped = path.replace("\\", "\\\\").replace("\n", "\\n")
        digest.update(f"{identifier}  {escaped}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
