"""Finds a round's source: the public repository, a Git URL or directory, an archive, a mirror."""

from __future__ import annotations

import difflib
import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path

from gpurank.declared.rounds import declared_rounds, round_order
from tasks.sources.base import Kind, SourceError, SourceMissing
from tasks.sources.git_directory import is_git_directory
from tasks.sources.identity import check_name

ARCHIVE_SUFFIXES = (".tar.zst", ".tar.gz", ".tgz", ".tar")

_ENTRY = re.compile(
    r"training_results_(?P<round>v\d+\.\d+)(?:-(?P<tail>.+?))?(?P<form>\.tar\.zst|\.tar\.gz|\.tgz|\.tar|\.git)?"
)
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_SCP = re.compile(r"(?:[\w.][\w.-]*@)?[\w.][\w.-]*:.+")
_SCHEMES = frozenset({"https", "http", "ssh", "git", "file"})


@dataclass(frozen=True, slots=True)
class Location:
    """Where a round's bytes are and how they are read."""

    kind: Kind
    uri: str


def resolve(round_id: str, source: str | os.PathLike[str] | None) -> Location:
    """Returns the location of a round in a source.

    ``source`` is None (the round's public repository), a Git URL or Git directory, an archive,
    a checkout, a mirror folder that holds any of these as ``training_results_<round>…``, or any
    of them with ``{round}`` in it. In a mirror an exact name is preferred to one with a suffix,
    and an archive to a folder.

    Raises:
        UnknownRound: the round's name is not ``vX.Y``.
        SourceMissing: nothing is there; the message says what was looked for and what is there.
        SourceError: the source cannot be used, or it holds the round more than once.
    """
    round_order(round_id)
    if source is None:
        return Location("git", declared_rounds().get(round_id).repository)
    text = os.fspath(source).replace("{round}", round_id)
    if _is_url(text):
        check_name(round_id, text.rstrip("/").rpartition("/")[2], text)
        return Location("git", text)
    path = Path(text).expanduser().absolute()
    if not path.exists():
        raise SourceMissing(f"{path} does not exist; {_nearest(path)}")
    return _local(round_id, path)


def available(source: str | os.PathLike[str] | None) -> tuple[str, ...] | None:
    """Returns the rounds that a source holds, oldest first; None if it cannot be listed (Git URLs).

    Raises:
        SourceError: the source cannot be used at all.
    """
    if source is None:
        return None
    text = os.fspath(source)
    if _is_url(text):
        return None
    if "{round}" in text:
        return _sorted(_template_rounds(text))
    path = Path(text).expanduser().absolute()
    if not path.exists():
        raise SourceMissing(f"{path} does not exist; {_nearest(path)}")
    if path.is_dir() and not is_git_directory(path) and (held := _entries(path)):
        return _sorted(match["round"] for match in held.values())
    match = _ENTRY.fullmatch(path.name)
    return (match["round"],) if match else None


def is_remote(source: str | os.PathLike[str] | None) -> bool:
    """Returns whether a source is reached by URL, where no answer may look like no repository."""
    return source is None or _is_url(os.fspath(source))


def _sorted(rounds: object) -> tuple[str, ...]:
    return tuple(sorted(set(rounds), key=round_order))  # type: ignore[call-overload]


def _template_rounds(text: str) -> set[str]:
    """Returns the rounds for which a local template names an existing path."""
    before, *rest = str(Path(text).expanduser().absolute()).split("{round}")
    pattern = re.compile(
        re.escape(before)
        + r"(v\d+\.\d+)"
        + "".join(rf"\1{re.escape(part)}" if i else re.escape(part) for i, part in enumerate(rest))
    )
    wild = "v*".join(glob.escape(part) for part in (before, *rest))
    names = glob.glob(wild)  # noqa: PTH207  (Path.glob takes no absolute pattern)
    return {match[1] for name in names if (match := pattern.fullmatch(name))}


def _is_url(text: str) -> bool:
    """Returns whether a source is a Git URL.

    Raises:
        SourceError: the URL could run a program or reveal a secret.
    """
    if not text.strip():
        raise SourceError("the source is empty; give a folder, an archive or a Git URL")
    if text.startswith("-") or any(ord(char) < 32 for char in text):
        raise SourceError(
            f"{text!r} is not a source: it starts with '-' or holds control characters"
        )
    if "::" in text and not Path(text).exists():
        raise SourceError(f"{text!r} names a Git helper program; give an https, ssh or file URL")
    match = _URL.fullmatch(text)
    if not match:
        return bool(_SCP.fullmatch(text)) and not Path(text).exists()
    scheme, rest = match["scheme"].lower(), match["rest"]
    if scheme not in _SCHEMES or rest.startswith("-"):
        raise SourceError(
            f"{text!r} is not a Git URL of a supported kind: {', '.join(sorted(_SCHEMES))}"
        )
    user, has_user, _ = rest.partition("/")[0].rpartition("@")
    if has_user and (scheme in ("http", "https") or ":" in user):
        # The address is recorded with every version, and a secret in it would be, too.
        raise SourceError(
            "the source URL holds a name or password; leave it out and let Git ask its "
            "credential helper"
        )
    if text.endswith(ARCHIVE_SUFFIXES):
        raise SourceError(f"{text} is an archive on the network; download it and name the file")
    return True


def _local(round_id: str, path: Path) -> Location:
    if path.is_file():
        check_name(round_id, path.name, str(path))
        return Location("archive", str(path))
    if is_git_directory(path):
        # A Git directory is often called .git or repo; the folder around it then has the name.
        check_name(round_id, "/".join(path.parts[-2:]), str(path))
        return Location("git", str(path))
    held = _entries(path)
    if held:
        return _local(round_id, path / _choose(round_id, path, held))
    check_name(round_id, path.name, str(path))
    if _ENTRY.fullmatch(path.name) or _is_checkout(path, round_id):
        return Location("tree", str(path))
    names = sorted(entry.name for entry in os.scandir(path))
    raise SourceMissing(
        f"{path} is neither a mirror (nothing in it is named training_results_<round>) nor a "
        f"checkout of a round (no <submitter>/results); it holds {_some(names)}"
    )


def _entries(path: Path) -> dict[str, re.Match[str]]:
    """Returns the entries of a folder that are named like a round's source, by name."""
    try:
        names = [(entry.name, entry.is_dir()) for entry in os.scandir(path)]
    except OSError as error:
        raise SourceError(f"{path} cannot be listed ({error.strerror}); check its rights") from None
    found = {}
    for name, is_folder in names:
        match = _ENTRY.fullmatch(name)
        if match and is_folder == (match["form"] in (None, ".git")):
            found[name] = match
    return found


def _choose(round_id: str, path: Path, held: dict[str, re.Match[str]]) -> str:
    """Returns the name of the one entry of a mirror that is a round's."""
    fitting = {name: match for name, match in held.items() if match["round"] == round_id}
    forms = (*ARCHIVE_SUFFIXES, None, ".git")
    exact = [name for name, match in fitting.items() if match["tail"] is None]
    if exact:
        return min(exact, key=lambda name: forms.index(fitting[name]["form"]))
    if len(fitting) == 1:
        return next(iter(fitting))
    if fitting:
        raise SourceError(
            f"{path} holds {round_id} more than once: {', '.join(sorted(fitting))}; keep one, or "
            "name one of them as the source"
        )
    rounds = _sorted(match["round"] for match in held.values())
    close = difflib.get_close_matches(round_id, rounds, n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise SourceMissing(
        f"{path} has no {round_id}: looked for training_results_{round_id} with "
        f"{', '.join(ARCHIVE_SUFFIXES)}, .git or as a folder, also with -<commit> after the "
        f"round; it holds {', '.join(rounds)}{hint}"
    )


def _is_checkout(path: Path, round_id: str) -> bool:
    """Returns whether a folder's subfolders look like submitters (v0.5 has a folder above them)."""
    if (path / ".git").exists():
        return True
    top = declared_rounds().get(round_id).top_folder
    if top and (path / top).is_dir():
        return True
    folders = [entry for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    return any(
        Path(entry.path, name).is_dir() for entry in folders for name in ("results", "systems")
    )


def _nearest(path: Path) -> str:
    """Says what is there in place of a path that was expected, the most similar names first."""
    parent = path.parent
    while not parent.is_dir():
        path, parent = parent, parent.parent
    try:
        names = sorted(entry.name for entry in os.scandir(parent))
    except OSError:
        return f"{parent} cannot be listed"
    return f"{parent} holds {_some(difflib.get_close_matches(path.name, names, 5, 0.4) or names)}"


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:5]) or "nothing"
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
