"""Runs git without prompts, hooks or helper programs, with a fixed configuration and a time limit.

A repository is untrusted: neither its configuration nor its content may have a program run.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from tasks.sources.base import SourceError, SourceMissing, SourceRefused, SourceUnavailable

# Variables that point git at a repository, such as those set inside a hook of another one.
_REPOSITORY_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
        "GIT_OBJECT_DIRECTORY",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_REPLACE_REF_BASE",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_QUARANTINE_PATH",
        "GIT_DEFAULT_HASH",
        "GIT_ATTR_SOURCE",
    }
)
_ALLOWED = "GIT_ALLOW_PROTOCOL"
_REMOTE_PROTOCOLS = {_ALLOWED: "https:http:ssh:git:file"}
_ALWAYS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.directory=*",
)
# Proxies, certificates and credentials stay as the user configured them; settings that would change
# the outcome are fixed.
_REMOTE = (
    "protocol.ext.allow=never",
    "protocol.version=2",
    "transfer.fsckObjects=false",
    "fetch.fsckObjects=false",
    "fetch.recurseSubmodules=false",
    "fetch.prune=false",
    "fetch.writeCommitGraph=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
)
_COMMITTED = re.compile(rb"^committer [^\n]*> (\d{1,12}) [+-]\d{4}$", re.MULTILINE)
_NO_SPACE = ("no space left on device", "disk quota exceeded")
_TRANSIENT = (
    "could not resolve",
    "failed to connect",
    "couldn't connect",
    "connection timed out",
    "connection refused",
    "connection reset",
    "connection closed by remote",
    "operation timed out",
    "operation too slow",
    "network is unreachable",
    "no route to host",
    "temporary failure",
    "early eof",
    "unexpected disconnect",
    "rpc failed",
    "hung up unexpectedly",
    "error: 408",
    "error: 429",
    "error: 500",
    "error: 502",
    "error: 503",
    "error: 504",
    "gnutls",
    "ssl_",
)
_MISSING = (
    "does not appear to be a git repository",
    "repository not found",
    "' not found",
    "error: 404",
    "project you were looking for could not be found",
    # Public hosts ask for a login when a repository does not exist.
    "could not read username",
)
_REFUSED = (
    "could not read password",
    "authentication failed",
    "permission denied",
    "error: 401",
    "error: 403",
    "host key verification failed",
    "transport 'ext' not allowed",
)


class GitFailed(SourceUnavailable):
    """A git command failed for a reason that need not be the source's."""


def local_git(*arguments: str) -> bytes:
    """Returns the output of a git command on a local repository; never uses the network.

    Raises:
        GitFailed: the command failed.
    """
    code, output, errors = _run(local_command(*arguments), local_environment(), b"", 600)
    if code:
        raise GitFailed(f"git {arguments[1]} failed: {_short(errors)}")
    return output


def commit_time(where: str, commit: str) -> str | None:
    """Returns when a local commit was made (committer's clock, UTC, ISO 8601); None if unknown."""
    try:
        # Not `git log`: a repository's own configuration may name a program for it to run.
        head = local_git(where, "cat-file", "commit", commit).partition(b"\n\n")[0]
        match = _COMMITTED.search(head)
        return datetime.fromtimestamp(int(match[1]), UTC).isoformat() if match else None
    except (GitFailed, ValueError, OverflowError, OSError):
        return None


def local_command(*arguments: str) -> list[str]:
    """Returns the command line of a git command that may not use the network."""
    return _command((*_ALWAYS, "protocol.allow=never"), arguments)


def local_environment() -> dict[str, str]:
    """Returns the environment of a git command that reads only the repository's configuration.

    No protocol is allowed. A setting alone would not do: the repository's own configuration could
    allow one again, and git would fetch what the repository lacks.
    """
    closed = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, _ALLOWED: ""}
    return _environment() | closed


def remote_git(
    url: str, *arguments: str, feed: bytes = b"", timeout_s: float, repository: Path | None = None
) -> bytes:
    """Returns the output of a git command that talks to ``url``, which messages name.

    Raises:
        SourceUnavailable: the network or the server failed, or did not answer in time.
        SourceMissing: there is no such repository.
        SourceRefused: access is denied.
        SourceError: the disk is full.
        GitFailed: any other reason.
    """
    where = () if repository is None else (f"--git-dir={repository}",)
    command = _command((*_ALWAYS, *_REMOTE), (*where, *arguments))
    try:
        code, output, errors = _run(command, _environment() | _REMOTE_PROTOCOLS, feed, timeout_s)
    except subprocess.TimeoutExpired:
        raise SourceUnavailable(
            f"{url} did not answer completely within {timeout_s:.0f} s; try again later"
        ) from None
    if code:
        raise _explain_failure(url, errors)
    return output


def _explain_failure(url: str, errors: bytes) -> SourceError:
    text, short = errors.decode("utf-8", "replace").lower(), _short(errors)
    if any(sign in text for sign in _NO_SPACE):
        return SourceError(f"{url} could not be kept: the disk is full; make room ({short})")
    if any(sign in text for sign in _MISSING):
        return SourceMissing(
            f"{url} does not exist: no such Git repository; check round and source ({short})"
        )
    if "dubious ownership" in text:
        return SourceRefused(
            f"{url} belongs to another user, so that Git does not serve it; give the folder's path "
            "in place of the file:// URL, or run `git config --global --add safe.directory <path>` "
            f"for it ({short})"
        )
    if any(sign in text for sign in _REFUSED):
        return SourceRefused(
            f"{url} does not exist or may not be read without signing in; check the round, the "
            f"source and your rights ({short})"
        )
    if any(sign in text for sign in _TRANSIENT):
        return SourceUnavailable(f"{url} did not answer; try again later ({short})")
    return GitFailed(f"{url} could not be read; try again later ({short})")


def _command(settings: tuple[str, ...], arguments: tuple[str, ...]) -> list[str]:
    command = ["git"]
    for setting in settings:
        command += ["-c", setting]
    return [*command, *arguments]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    # Without a terminal (see start) git cannot ask for a password there, either.
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }


def _run(
    command: list[str], environment: dict[str, str], feed: bytes, timeout_s: float
) -> tuple[int, bytes, bytes]:
    """Runs a command to its end; a timeout or an interrupt kills the whole process group."""
    process = start(command, environment, stdin=subprocess.PIPE)
    try:
        output, errors = process.communicate(feed, timeout_s)
    except BaseException:
        stop(process)
        raise
    return process.returncode, output, errors


def start(command: list[str], environment: dict[str, str], stdin: int) -> subprocess.Popen[bytes]:
    """Starts git in its own process group.

    Raises:
        SourceError: git is not installed.
    """
    try:
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise SourceError(
            "git is not installed; install it, or use a mirror folder of archives as the source"
        ) from None


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kills a process and the helpers that it started, if they still run; closes its pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _short(errors: bytes) -> str:
    """Returns the last lines of git's messages that say what is wrong."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    relevant = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    return " ".join((relevant or lines)[-2:])[:400] or "git gave no reason"
