"""What every kind of source shares: the pinned snapshot, the errors, the name of a round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gpurank.errors import Exit, GpurankError

#: Characters of a path; no file system takes a longer one.
PATH_LIMIT = 4096

Kind = Literal["git", "archive", "tree"]

_ROUND_IN_NAME = re.compile(r"training_results_(v\d+\.\d+)(?!\d)")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_COMMIT_SUFFIX = re.compile(r"-([0-9a-f]{7,64})$")


class SourceError(GpurankError, ValueError):
    """A source cannot be used; the message says what, where and what to do."""

    exit_code = Exit.SOURCE


class SourceMissing(SourceError):
    """There is no such repository, folder or archive, or none that may be read."""


class SourceRefused(SourceMissing):
    """The source answered, and would not let us look: nothing is known about what it holds."""


class SourceUnavailable(SourceError):
    """A source did not answer this time; the same call may work later."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A round's source as it is now, pinned.

    ``uri`` is a Git URL or an absolute path. ``commit`` is the full commit id; of an archive or
    a folder without one in it, the (perhaps shortened) id at the end of its name, or None.
    ``fingerprint`` changes when what would be taken may have changed: ``git:<commit>``,
    ``sha256:<of the archive file>`` or ``content:<content hash of a tree>``.
    ``committed_at`` is the commit's time where the source tells it without being read (UTC, ISO).
    """

    round_id: str
    kind: Kind
    uri: str
    commit: str | None
    fingerprint: str
    committed_at: str | None = None


def is_commit(text: str) -> bool:
    """Whether a text is a full commit id."""
    return bool(_COMMIT.fullmatch(text))


def commit_in_name(name: str) -> str | None:
    """The commit at the end of ``training_results_<round>-<commit>``, or None."""
    match = _COMMIT_SUFFIX.search(name)
    return match[1] if match else None


def check_paths(paths: Sequence[str], where: str) -> None:
    """Refuse a listing, in order, with a path that is there twice or longer than any can be.

    Raises:
        SourceError: which of two files counts is unknown; or each record of a file would be
            stored beside a path without end.
    """
    longest = max(map(len, paths), default=0)
    if longest > PATH_LIMIT:
        raise SourceError(f"{where} has a path of {longest} characters; check the source")
    for first, second in pairwise(paths):
        if first == second:
            raise SourceError(f"{where} holds {first!r} twice; get a copy that was made at once")


def check_round(round_id: str, name: str, where: str) -> None:
    """Refuse a source whose own name says that it is another round.

    Raises:
        SourceError: it does.
    """
    match = _ROUND_IN_NAME.search(name)
    if match and match[1] != round_id:
        raise SourceError(
            f"{where} is round {match[1]} by its name {name!r}, not {round_id}; name the source "
            f"of {round_id}, or write {{round}} where the round stands in it"
        )
