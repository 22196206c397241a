"""Running git: no prompt, no hook, no helper program, no surprise, and an end in time."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from tasks.sources.base import SourceError, SourceMissing, SourceRefused, SourceUnavailable

# Variables that tie git to a repository (as inside a hook of another one).
_TIES = frozenset(
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
_SPOKEN = {_ALLOWED: "https:http:ssh:git:file"}
_ALWAYS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.directory=*",
)
# Proxies, certificates and credentials stay the user's; what would change the outcome does not.
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
    # How public hosts answer a question for a repository that is not there: they ask who we are.
    "could not read username",
)
_REFUSED = (
    "could not read password",
    "authentication failed",
    "permission denied",
    "error: 401",
    "error: 403",
    "host key verification failed",
    "dubious ownership",
    "transport 'ext' not allowed",
)


class GitFailed(SourceUnavailable):
    """A git command failed for a reason that is not known to lie with the source."""


def local_git(*arguments: str) -> bytes:
    """Output of a git command on a repository at hand; never reaches for the network.

    Raises:
        GitFailed: it failed.
    """
    code, output, errors = _run(local_command(*arguments), local_environment(), b"", 600)
    if code:
        raise GitFailed(f"git {arguments[1]} failed: {_short(errors)}")
    return output


def commit_time(where: str, commit: str) -> str | None:
    """When a commit at hand was made (its committer's clock), UTC, ISO; None where unknown."""
    try:
        # Not `git log`: a checkout's own configuration may name a program that it would run.
        head = local_git(where, "cat-file", "commit", commit).partition(b"\n\n")[0]
        match = _COMMITTED.search(head)
        return datetime.fromtimestamp(int(match[1]), UTC).isoformat() if match else None
    except (GitFailed, ValueError, OverflowError, OSError):
        return None


def local_command(*arguments: str) -> list[str]:
    """The command line of a git command that may not reach for the network."""
    return _command((*_ALWAYS, "protocol.allow=never"), arguments)


def local_environment() -> dict[str, str]:
    """Environment of a git command that heeds no configuration but the repository's.

    No protocol at all is allowed: a checkout's own configuration, which is somebody else's, could
    allow one again where only a setting forbids it, and git would fetch what the checkout lacks.
    """
    closed = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, _ALLOWED: ""}
    return _environment() | closed


def remote_git(
    url: str, *arguments: str, feed: bytes = b"", timeout_s: float, repository: Path | None = None
) -> bytes:
    """Output of a git command that talks to ``url`` (named in messages).

    Raises:
        SourceUnavailable: the network or the server failed, or no answer came in time.
        SourceMissing: there is no such repository.
        SourceRefused: it may not be read.
        SourceError: the disk is full.
        GitFailed: any other reason.
    """
    where = () if repository is None else (f"--git-dir={repository}",)
    command = _command((*_ALWAYS, *_REMOTE), (*where, *arguments))
    try:
        code, output, errors = _run(command, _environment() | _SPOKEN, feed, timeout_s)
    except subprocess.TimeoutExpired:
        raise SourceUnavailable(
            f"{url} gave no complete answer in {timeout_s:.0f} s; try again later"
        ) from None
    if code:
        raise _explained(url, errors)
    return output


def _explained(url: str, errors: bytes) -> SourceError:
    text, short = errors.decode("utf-8", "replace").lower(), _short(errors)
    if any(sign in text for sign in _NO_SPACE):
        return SourceError(f"{url} could not be kept: the disk is full; make room ({short})")
    if any(sign in text for sign in _MISSING):
        return SourceMissing(
            f"{url} is not there: no such Git repository; check the round and the source ({short})"
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
    kept = {name: value for name, value in os.environ.items() if name not in _TIES}
    # A session without a terminal (see start) cannot be asked for a password either.
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }


def _run(
    command: list[str], environment: dict[str, str], feed: bytes, timeout_s: float
) -> tuple[int, bytes, bytes]:
    """Run to the end; the whole process group dies with a time-out or an interrupt."""
    process = start(command, environment, stdin=subprocess.PIPE)
    try:
        output, errors = process.communicate(feed, timeout_s)
    except BaseException:
        stop(process)
        raise
    return process.returncode, output, errors


def start(command: list[str], environment: dict[str, str], stdin: int) -> subprocess.Popen[bytes]:
    """Start git in a process group of its own.

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
    """End a process, if it still runs, with the helpers it started; close its pipes."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _short(errors: bytes) -> str:
    """The telling last lines of what git said."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    return " ".join((telling or lines)[-2:])[:400] or "git said nothing"
