"""Reads a round from a Git directory on disk: a bare repository or the ``.git`` of a clone.

The files come straight from its object store; nothing is fetched, copied or written. A directory
that does not hold every file of the commit is refused as a whole, unless the caller accepts that:
then the missing files are listed as withheld.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpurank.logs.source_files import SourceFile, withheld_as_missing
from tasks.sources.base import Snapshot, SourceError, git_fingerprint
from tasks.sources.git_command import GitFailed, commit_time, local_git
from tasks.sources.git_objects import (
    Blob,
    Listing,
    held_objects,
    list_files,
    read_blob,
    read_files,
)
from tasks.sources.identity import check_contents, check_name


def is_git_directory(path: Path) -> bool:
    """Returns whether a folder is a Git directory: bare, or the ``.git`` of a clone."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()


def pin(round_id: str, path: Path, accept_missing: bool = False) -> Snapshot:
    """Pins a Git directory by the commit of its HEAD and, where accepted, by what it lacks.

    Raises:
        SourceError: it has no commit, it cannot be read, or its remote is another round's.
    """
    try:
        commit = _git(path, "rev-parse", "--verify", "HEAD")
    except GitFailed as error:
        raise SourceError(
            f"{path} is a Git repository without a commit on its default branch, or a broken one "
            f"({error}); check the source"
        ) from None
    check_remote(round_id, path, str(path))
    missing = _missing(*_list_commit(path, commit)) if accept_missing else []
    return Snapshot(
        round_id,
        "git",
        str(path),
        commit,
        git_fingerprint(commit, [blob.object_id for blob in missing]),
        commit_time(f"--git-dir={path}", commit),
        accept_missing,
    )


def files(snapshot: Snapshot) -> Iterator[SourceFile]:
    """Yields the commit's files in path order; accepted missing ones as withheld.

    Raises:
        SourceError: objects are missing or damaged, or the contents are another round's. The
            message names the cause and the remedy.
    """
    path, commit = Path(snapshot.uri), snapshot.commit or ""
    listing, held = _list_commit(path, commit)
    missing = _missing(listing, held)
    if missing and not snapshot.accept_missing:
        raise SourceError(
            f"{path} lacks {len(missing)} of the {len(listing.blobs)} files to read of commit "
            f"{commit}, such as {missing[0].path}; {_remedy(path)}. With --accept-missing the "
            "other files are read, and a result whose logs are missing has no score"
        )
    if len(missing) == len(listing.blobs) > 0:
        raise SourceError(f"{path} holds no file to read of commit {commit}; {_remedy(path)}")
    try:
        readme = read_blob(path, listing.readme, held)
        check_contents(snapshot.round_id, listing.paths, readme, str(path))
        present = read_files(path, [blob for blob in listing.blobs if blob.object_id in held])
        for blob in listing.blobs:
            if blob.object_id in held:
                yield next(present)
            else:
                yield withheld_as_missing(blob.path, blob.object_id)
    except GitFailed as error:
        raise SourceError(
            f"{path} is damaged: {error}; `git --git-dir={path} fsck` lists the damage. Clone the "
            "repository again"
        ) from None


def _list_commit(path: Path, commit: str) -> tuple[Listing, set[str]]:
    """Returns the commit's files of interest, and the ids of all objects that are there.

    Raises:
        SourceError: the commit or one of its folders is missing.
    """
    try:
        held = held_objects(path)
        if commit not in held:
            raise SourceError(f"{path} does not hold commit {commit}; {_remedy(path)}")
        return list_files(path, commit, str(path)), held
    except GitFailed as error:
        raise SourceError(
            f"{path} lacks folders of commit {commit} ({error}); {_remedy(path)}"
        ) from None


def _missing(listing: Listing, held: set[str]) -> list[Blob]:
    """Returns the files whose content is not there, in path order."""
    return [blob for blob in listing.blobs if blob.object_id not in held]


def check_remote(round_id: str, git_dir: Path, where: str) -> None:
    """Raises an error if a Git directory was cloned from another suite's or round's repository.

    Raises:
        SourceError: it was.
    """
    try:
        url = _git(git_dir, "config", "--local", "--get", "remote.origin.url")
    except GitFailed:
        return
    check_name(round_id, url.rstrip("/").rpartition("/")[2], where, "remote")


def _remedy(path: Path) -> str:
    """Returns why objects may be missing, as the repository's configuration tells, and the cure."""
    try:
        promised = _git(path, "config", "--local", "--get-regexp", r"^remote\..*\.promisor$")
    except GitFailed:
        promised = ""
    if promised:
        return (
            "it is a partial clone, and nothing is fetched into it: run "
            f"`git --git-dir={path} fetch --refetch --no-filter origin`, or clone without --filter"
        )
    return (
        "it is an incomplete copy of the repository: run `git clone --bare` without --filter from "
        "a complete one, or use an archive of the round"
    )


def _git(path: Path, *arguments: str) -> str:
    return local_git(f"--git-dir={path}", *arguments).decode("utf-8", "replace").strip()
