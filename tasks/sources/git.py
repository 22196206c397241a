"""A round read from a Git repository: only the files that are wanted, each by its hash.

A bare partial clone of one commit (no file contents), its listing, one fetch of exactly the
missing contents by id, then a stream of them. A later commit fetches only what changed.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
from tasks.sources.base import (
    Snapshot,
    SourceError,
    SourceMissing,
    SourceUnavailable,
    check_paths,
    is_commit,
)
from tasks.sources.git_command import (
    GitFailed,
    commit_time,
    local_command,
    local_environment,
    local_git,
    remote_git,
    start,
    stop,
)

# Asking for a branch takes a second; a round's contents are tens of MB. Both leave room for a
# slow line; a line that stands still is given up after a minute by git itself.
ASK_TIMEOUT_S = 60.0
FETCH_TIMEOUT_S = 1800.0
LISTING_LIMIT_B = 128 * MIB  # a whole repository lists some 10 MiB of names

_LINK_MODE = "120000"
_PARTIAL = {
    "core.repositoryformatversion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
}
# A server that gives only its branches' tips, or that cannot cut history short.
_NO_SINGLE_COMMIT = ("unadvertised object", "not our ref", "not allowed", "shallow", "dumb http")


@dataclass(frozen=True, slots=True)
class _Blob:
    path: str
    mode: str
    object_id: str


def remote_head(url: str) -> str:
    """Commit of the remote's default branch, whatever its name.

    Raises:
        SourceUnavailable: no answer.
        SourceMissing: no such repository.
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
    """Pin a repository by the commit of its default branch; fetches nothing."""
    commit = remote_head(url)
    return Snapshot(round_id, "git", url, commit, f"git:{commit}")


def committed_at(snapshot: Snapshot, cache_dir: Path) -> str | None:
    """Time of the pinned commit, UTC; None where it is not at hand. Ask after ``files``."""
    repository = _repository_of(snapshot.uri, cache_dir)
    return commit_time(f"--git-dir={repository}", snapshot.commit or "")


def files(snapshot: Snapshot, cache_dir: Path) -> Iterator[SourceFile]:
    """The commit's files in path order, from a partial clone kept in ``cache_dir/git``.

    A clone that a killed run left unusable is built anew once.

    Raises:
        SourceUnavailable: the network or the server failed.
        SourceError: the repository or the commit is not there any more.
    """
    repository = _repository_of(snapshot.uri, cache_dir)
    done = 0
    for may_rebuild in (True, False):
        try:
            blobs = _prepare(repository, snapshot)
            for file in _stream(repository, blobs[done:]):
                yield file
                done += 1
            return
        except GitFailed:
            if not may_rebuild:
                raise
            shutil.rmtree(repository, ignore_errors=True)


def _repository_of(url: str, cache_dir: Path) -> Path:
    name = re.sub(r"[^\w.-]", "_", url.rstrip("/").rpartition("/")[2].removesuffix(".git"))
    key = hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return cache_dir.absolute() / "git" / f"{name.lstrip('.-') or 'round'}-{key}.git"


def _prepare(repository: Path, snapshot: Snapshot) -> list[_Blob]:
    """The wanted blobs of the pinned commit, every one of them at hand."""
    if not (repository / "config").is_file():
        _create(repository, snapshot.uri, _PARTIAL)
    commit = snapshot.commit or ""
    where = f"--git-dir={repository}"
    if not _has_commit(where, commit):
        _fetch_commit(repository, snapshot.uri, commit)
    listing = _listing(where, commit, snapshot.uri)
    blobs = sorted(_wanted(listing), key=lambda blob: path_order(blob.path))
    check_paths([blob.path for blob in blobs], snapshot.uri)
    missing = {blob.object_id for blob in blobs} - _held(where)
    if missing:
        _fetch_blobs(repository, snapshot.uri, missing)
        if absent := missing - _held(where):
            raise GitFailed(f"{snapshot.uri} did not send {len(absent)} of the files asked for")
    return blobs


def _create(repository: Path, url: str, settings: Mapping[str, str]) -> None:
    """An empty bare repository, made beside and moved into place whole."""
    try:
        repository.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(repository, ignore_errors=True)
        temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=repository.parent))
    except OSError as error:
        raise SourceError(
            f"{repository.parent} cannot hold the Git cache ({error.strerror}); free it"
        ) from None
    try:
        where = f"--git-dir={temporary}"
        local_git(where, "init", "--bare", "-q", "--template=")
        for name, value in {"remote.origin.url": url, **settings}.items():
            local_git(where, "config", name, value)
        temporary.replace(repository)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _has_commit(where: str, commit: str) -> bool:
    try:
        # Whole trees as well: a fetch that died may have left the commit alone.
        local_git(where, "rev-parse", "-q", "--verify", f"refs/pinned/{commit}^{{tree}}")
    except GitFailed:
        return False
    return True


def _fetch_commit(repository: Path, url: str, commit: str) -> None:
    """Fetch one commit with its trees; from a plain server, all of the default branch."""
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
        if not any(sign in str(error).lower() for sign in _NO_SINGLE_COMMIT):
            raise
    # Not into a partial clone: over such a transport git would start itself without end, once
    # for each object that it lacks.
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
            f"{url} no longer has commit {commit}; the branch was rewritten: run again to take "
            "what it holds now"
        ) from None


def _fetch_blobs(repository: Path, url: str, object_ids: set[str]) -> None:
    """Fetch contents by id in one request, as git does when it lacks some."""
    remote_git(
        url,
        *("-c", "fetch.negotiationAlgorithm=noop", "fetch", "-q", "origin", "--no-tags"),
        *("--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none", "--stdin"),
        feed="".join(f"{object_id}\n" for object_id in sorted(object_ids)).encode(),
        timeout_s=FETCH_TIMEOUT_S,
        repository=repository,
    )


def _listing(where: str, commit: str, uri: str) -> bytes:
    """Output of ``ls-tree -r -z``, within a limit: trees that hold each other grow without end."""
    command = local_command(where, "ls-tree", "-r", "-z", "--full-tree", commit)
    process = start(command, local_environment(), subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        listing = process.stdout.read(LISTING_LIMIT_B + 1)
        if len(listing) > LISTING_LIMIT_B:
            raise SourceError(f"{uri} lists more names than any round; check the source")
        if process.wait():
            raise GitFailed("git ls-tree failed: the Git cache is damaged")
        return listing
    finally:
        stop(process)


def _wanted(listing: bytes) -> Iterator[_Blob]:
    """Rows of ``ls-tree -r -z`` that are taken."""
    for row in filter(None, listing.split(b"\0")):
        meta, _, raw = row.partition(b"\t")
        path = readable_path(raw)
        mode, kind, object_id = meta.decode().split(" ")
        if kind == "blob" and interest(path) is not None:
            yield _Blob(path, mode, object_id)


def _held(where: str) -> set[str]:
    """Ids of all objects at hand; asks for no size, which would fetch each missing one."""
    listing = local_git(
        where, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"
    )
    return set(listing.decode().split())


def _stream(repository: Path, blobs: Sequence[_Blob]) -> Iterator[SourceFile]:
    """Contents in the order asked for, one at a time."""
    with tempfile.TemporaryFile() as ask:
        ask.write("".join(f"{blob.object_id}\n" for blob in blobs).encode())
        ask.seek(0)
        process = start(
            local_command(f"--git-dir={repository}", "cat-file", "--batch"),
            local_environment(),
            stdin=ask.fileno(),
        )
        try:
            assert process.stdout is not None
            for blob in blobs:
                yield _next_file(process.stdout, blob)
        finally:
            stop(process)


def _next_file(pipe: IO[bytes], blob: _Blob) -> SourceFile:
    header = pipe.readline().split()
    if len(header) != 3 or header[1] != b"blob":
        raise GitFailed(f"{blob.path}: its content {blob.object_id} is damaged in the Git cache")
    size = int(header[2])
    if size <= size_limit(blob.path):
        data = pipe.read(size + 1)
        if len(data) != size + 1:
            raise GitFailed(f"{blob.path}: its content in the Git cache ends early")
        if blob.mode == _LINK_MODE:
            return withheld_link(blob.path, "symbolic link", data[:-1])
        return SourceFile(blob.path, data[:-1])
    digest, left = hashlib.sha256(), size
    while left:
        part = pipe.read(min(left, MIB))
        if not part:
            raise GitFailed(f"{blob.path}: its content in the Git cache ends early")
        digest.update(part)
        left -= len(part)
    pipe.read(1)
    return withheld_for_size(blob.path, size, digest.hexdigest())
