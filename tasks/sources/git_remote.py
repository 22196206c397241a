"""Reads a round from a Git repository that is reached by URL.

A bare partial clone in the data folder's cache keeps one commit without file contents; one more
fetch brings the contents of exactly the files of interest. A later commit fetches only what
changed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpurank.logs.source_files import SourceFile
from tasks.sources.base import (
    Snapshot,
    SourceError,
    SourceMissing,
    SourceUnavailable,
    git_fingerprint,
    is_commit,
)
from tasks.sources.git_command import GitFailed, commit_time, local_git, remote_git
from tasks.sources.git_objects import Listing, held_objects, list_files, read_blob, read_files
from tasks.sources.identity import check_contents

# Asking for a branch takes a second; a round's contents are tens of MB. Both leave room for a
# slow line; git itself gives up after a minute without data.
ASK_TIMEOUT_S = 60.0
FETCH_TIMEOUT_S = 1800.0

_PARTIAL_CLONE = {
    "core.repositoryformatversion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
}
# Messages of a server that only serves the tips of its branches, or no shallow history.
_NO_SINGLE_COMMIT = ("unadvertised object", "not our ref", "not allowed", "shallow", "dumb http")


def remote_head(url: str) -> str:
    """Returns the commit of the remote's default branch, whatever its name.

    Raises:
        SourceUnavailable: the remote did not answer.
        SourceMissing: there is no such repository.
        SourceError: the repository has no commit, or git is not installed.
    """
    output = remote_git(url, "ls-remote", "--", url, "HEAD", timeout_s=ASK_TIMEOUT_S)
    for line in output.decode("utf-8", "replace").splitlines():
        commit, _, name = line.partition("\t")
        if name == "HEAD" and is_commit(commit):
            return commit
    raise SourceError(
        f"{url} is a Git repository without a commit on its default branch; check the source"
    )


def pin(round_id: str, url: str) -> Snapshot:
    """Pins a repository by the commit of its default branch; fetches nothing."""
    commit = remote_head(url)
    return Snapshot(round_id, "git", url, commit, git_fingerprint(commit))


def committed_at(snapshot: Snapshot, cache_dir: Path) -> str | None:
    """Returns the time of the pinned commit in UTC, or None before ``files`` has fetched it."""
    repository = _repository_dir(snapshot.uri, cache_dir)
    return commit_time(f"--git-dir={repository}", snapshot.commit or "")


def files(snapshot: Snapshot, cache_dir: Path) -> Iterator[SourceFile]:
    """Yields the commit's files in path order, from a partial clone kept in ``cache_dir/git``.

    A clone that a killed run left unusable is rebuilt once.

    Raises:
        SourceUnavailable: the network or the server failed.
        SourceError: the repository or the commit no longer exists, or is another round's.
    """
    repository = _repository_dir(snapshot.uri, cache_dir)
    done = 0
    for may_rebuild in (True, False):
        try:
            listing = _prepare(repository, snapshot)
            for file in read_files(repository, listing.blobs[done:]):
                yield file
                done += 1
            return
        except GitFailed as error:
            if not may_rebuild:
                if snapshot.uri in str(error):
                    raise
                raise SourceUnavailable(
                    f"{snapshot.uri} could not be read ({error}); try again later"
                ) from None
            shutil.rmtree(repository, ignore_errors=True)


def _repository_dir(url: str, cache_dir: Path) -> Path:
    name = re.sub(r"[^\w.-]", "_", url.rstrip("/").rpartition("/")[2].removesuffix(".git"))
    key = hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return cache_dir.absolute() / "git" / f"{name.lstrip('.-') or 'round'}-{key}.git"


def _prepare(repository: Path, snapshot: Snapshot) -> Listing:
    """Fetches what is missing of the pinned commit's files of interest; returns their listing."""
    if not (repository / "config").is_file():
        _create(repository, snapshot.uri, _PARTIAL_CLONE)
    commit = snapshot.commit or ""
    if not _has_commit(repository, commit):
        _fetch_commit(repository, snapshot.uri, commit)
    listing = list_files(repository, commit, snapshot.uri)
    wanted = {blob.object_id for blob in listing.blobs}
    if listing.readme is not None:
        wanted.add(listing.readme.object_id)
    held = held_objects(repository)
    if missing := wanted - held:
        _fetch_blobs(repository, snapshot.uri, missing)
        held = held_objects(repository)
        if absent := missing - held:
            raise GitFailed(f"the server did not send {len(absent)} of the files")
    readme = read_blob(repository, listing.readme, held)
    check_contents(snapshot.round_id, listing.paths, readme, snapshot.uri)
    return listing


def _create(repository: Path, url: str, settings: Mapping[str, str]) -> None:
    """Creates an empty bare repository under a temporary name, renamed when it is complete."""
    try:
        repository.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(repository, ignore_errors=True)
        temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=repository.parent))
    except OSError as error:
        raise SourceError(
            f"{repository.parent} cannot hold the Git cache ({error.strerror}); free it"
        ) from None
    try:
        git_dir = f"--git-dir={temporary}"
        local_git(git_dir, "init", "--bare", "-q", "--template=")
        for name, value in {"remote.origin.url": url, **settings}.items():
            local_git(git_dir, "config", name, value)
        temporary.replace(repository)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _has_commit(repository: Path, commit: str) -> bool:
    try:
        # Ask for its trees as well: a fetch that was killed may have left the commit alone.
        reference = f"refs/pinned/{commit}^{{tree}}"
        local_git(f"--git-dir={repository}", "rev-parse", "-q", "--verify", reference)
    except GitFailed:
        return False
    return True


def _fetch_commit(repository: Path, url: str, commit: str) -> None:
    """Fetches one commit with its trees; from a plain server, all of the default branch."""
    fetch = ("fetch", "-q", "--no-tags", "--no-write-fetch-head")
    pinned = f"refs/pinned/{commit}"
    try:
        remote_git(
            url,
            *(*fetch, "--filter=blob:none", "--depth=1", "origin", f"+{commit}:{pinned}"),
            timeout_s=FETCH_TIMEOUT_S,
            repository=repository,
        )
        return
    except SourceMissing:
        raise
    except SourceUnavailable as error:
        if not any(message in str(error).lower() for message in _NO_SINGLE_COMMIT):
            raise
    # Not into a partial clone: over such a transport git would start itself again and again, once
    # for each object that is missing.
    _create(repository, url, {})
    remote_git(
        url,
        *(*fetch, "origin", "+HEAD:refs/pinned/head"),
        timeout_s=FETCH_TIMEOUT_S,
        repository=repository,
    )
    try:
        local_git(f"--git-dir={repository}", "update-ref", pinned, commit)
    except GitFailed:
        raise SourceError(
            f"{url} no longer has commit {commit}; the branch was rewritten: run again to read "
            "what it holds now"
        ) from None


def _fetch_blobs(repository: Path, url: str, object_ids: set[str]) -> None:
    """Fetches contents by id in one request, as git itself does for missing objects."""
    remote_git(
        url,
        *("-c", "fetch.negotiationAlgorithm=noop", "fetch", "-q", "origin", "--no-tags"),
        *("--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin"),
        feed="".join(f"{object_id}\n" for object_id in sorted(object_ids)).encode(),
        timeout_s=FETCH_TIMEOUT_S,
        repository=repository,
    )
