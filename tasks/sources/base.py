"""What every kind of source shares: the pinned snapshot, the errors, and a check of its paths."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gpurank.errors import Exit, GpurankError

#: Longest path in characters; no file system accepts a longer one.
PATH_LIMIT = 4096

Kind = Literal["git", "archive", "tree"]

_WITHOUT = " without "
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_COMMIT_SUFFIX = re.compile(r"-([0-9a-f]{7,64})$")


class SourceError(GpurankError, ValueError):
    """A source cannot be used; the message says what is wrong, where, and what to do."""

    exit_code = Exit.SOURCE


class SourceMissing(SourceError):
    """The repository, folder or archive does not exist or may not be read."""


class SourceRefused(SourceMissing):
    """The source answered but denied access, so nothing is known about what it holds."""


class SourceUnavailable(SourceError):
    """A source did not answer this time; the same call may succeed later."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A round's source, pinned to its present content.

    ``uri`` is a Git URL or an absolute path. ``commit`` is the full commit id. For an archive or
    a folder that does not record one, it is the (possibly abbreviated) id at the end of its name,
    or None. ``fingerprint`` changes whenever the content to read may have changed:
    ``git:<commit>``, ``sha256:<of the archive file>`` or ``content:<content hash of a tree>``;
    of a Git directory that lacks files it also says which. ``committed_at`` is the time of the
    commit (UTC, ISO 8601) where it is known before reading. ``accept_missing`` lists files that
    a Git directory lacks as withheld instead of refusing it.
    """

    round_id: str
    kind: Kind
    uri: str
    commit: str | None
    fingerprint: str
    committed_at: str | None = None
    accept_missing: bool = False


def git_fingerprint(commit: str, missing: Sequence[str] = ()) -> str:
    """Returns the fingerprint of a commit, of which a copy lacks some blobs."""
    if not missing:
        return f"git:{commit}"
    digest = hashlib.sha256("\n".join(missing).encode()).hexdigest()
    return f"git:{commit}{_WITHOUT}{digest}"


def lacks_files(fingerprint: str) -> bool:
    """Returns whether a fingerprint is of a copy that lacks files."""
    return _WITHOUT in fingerprint


def is_commit(text: str) -> bool:
    """Returns whether a text is a full commit id."""
    return bool(_COMMIT.fullmatch(text))


def commit_in_name(name: str) -> str | None:
    """Returns the commit at the end of ``training_results_<round>-<commit>``, or None."""
    match = _COMMIT_SUFFIX.search(name)
    return match[1] if match else None


def check_paths(paths: Sequence[str], where: str) -> None:
    """Raises an error if sorted paths contain a duplicate or an impossibly long path.

    Raises:
        SourceError: of two files at one path it is unclear which one counts; a path of unlimited
            length would be stored with every record of its file.
    """
    longest = max(map(len, paths), default=0)
    if longest > PATH_LIMIT:
        raise SourceError(f"{where} has a path of {longest} characters; check the source")
    for first, second in pairwise(paths):
        if first == second:
            raise SourceError(
                f"{where} holds {first!r} twice; get a fresh copy that holds each file once"
            )
