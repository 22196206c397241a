"""Git repositories made to do harm; the ones that only fail stand in tests/unit."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tasks.sources import git_objects, snapshot
from tasks.sources.snapshot import SourceError, files, pin

ODD_NAMES = (
    b"-x", b"--upload-pack=id", b"$(id)", b"`id`", b"a;id", b"new\nline", b"tab\t", b"\xff\xfe",
    b'quo"te', b"back\\slash", b"COM1", b"a" * 250, b"<script>alert(1)<", "\u202egnp".encode(),
)  # fmt: skip


def git(folder: Path, *arguments: str, feed: bytes = b"") -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, input=feed).stdout.decode()


def tree(folder: Path, rows: list[tuple[str, str, bytes]]) -> str:
    """Write a tree object of (mode and type, id, name)."""
    text = b"".join(f"{kind} {item}\t".encode() + name + b"\0" for kind, item, name in rows)
    return git(folder, "mktree", "-z", feed=text).strip()


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(folder))
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    return folder


@pytest.fixture(params=["{}", "file://{}"], ids=["path", "url"])
def address(request: pytest.FixtureRequest, remote: Path) -> str:
    """The repository as a folder, and as a remote that is fetched from."""
    return str(request.param).format(remote)


def publish(remote: Path, root: str) -> None:
    commit = git(remote, "commit-tree", root, "-m", "x").strip()
    git(remote, "update-ref", "refs/heads/main", commit)


def blob(remote: Path, data: bytes) -> str:
    return git(remote, "hash-object", "-w", "--stdin", feed=data).strip()


def test_trees_that_hold_each_other_end_at_a_limit(
    tmp_path: Path, remote: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = tree(remote, [("100644 blob", blob(remote, b"x"), b"result_0.txt")])
    for _ in range(9):
        level = tree(remote, [("040000 tree", level, b"d%d" % n) for n in range(10)])
    publish(remote, tree(remote, [("040000 tree", level, b"results")]))
    monkeypatch.setattr(git_objects, "LISTING_LIMIT_B", 1 << 20)
    with pytest.raises(SourceError, match="check the source"):
        list(files(pin("v4.0", address), tmp_path / "cache"))


@pytest.mark.parametrize("limit", ["ENTRY_LIMIT", "TOTAL_LIMIT_B"])
def test_more_files_or_bytes_than_any_round_are_refused(
    tmp_path: Path, remote: Path, address: str, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    one = blob(remote, b"x" * 100)
    many = [("100644 blob", one, b"result_%d.txt" % n) for n in range(9)]
    publish(remote, tree(remote, [("040000 tree", tree(remote, many), b"results")]))
    taken = pin("v4.0", address)
    assert len(list(files(taken, tmp_path / "cache"))) == 9
    monkeypatch.setattr(snapshot, limit, 8)
    with pytest.raises(SourceError, match="check the source"):
        list(files(taken, tmp_path / "cache"))


def test_odd_names_are_names(tmp_path: Path, remote: Path, address: str) -> None:
    one = blob(remote, b"x")
    rows = sorted(("100644 blob", one, name + b".txt") for name in ODD_NAMES)
    publish(remote, tree(remote, [("040000 tree", tree(remote, rows), b"results")]))
    found = list(files(pin("v4.0", address), tmp_path / "cache"))
    assert [file.data for file in found] == [b"x"] * len(ODD_NAMES)
    assert all(file.path.encode("utf-8") and file.path.startswith("results/") for file in found)
    assert {item.name for item in tmp_path.iterdir()} <= {"cache", "remote.git"}


def test_a_path_longer_than_any_is_refused(tmp_path: Path, remote: Path, address: str) -> None:
    level = tree(remote, [("100644 blob", blob(remote, b"x"), b"result_0.txt")])
    for _ in range(20):
        level = tree(remote, [("040000 tree", level, b"d" * 250)])
    publish(remote, tree(remote, [("040000 tree", level, b"results")]))
    with pytest.raises(SourceError, match="path of 50"):
        list(files(pin("v4.0", address), tmp_path / "cache"))


def test_submodules_are_not_fetched(tmp_path: Path, remote: Path, address: str) -> None:
    modules = b'[submodule "x"]\n\tpath = results/m\n\turl = ext::sh -c "touch harmed"\n'
    inner = [("100644 blob", blob(remote, b"x"), b"a.txt"), ("160000 commit", "1" * 40, b"m")]
    root = [
        ("100644 blob", blob(remote, modules), b".gitmodules"),
        ("040000 tree", tree(remote, inner), b"results"),
    ]
    publish(remote, tree(remote, root))
    found = list(files(pin("v4.0", address), tmp_path / "cache"))
    assert [file.path for file in found] == ["results/a.txt"]
    assert not list(tmp_path.rglob("harmed"))


SIGNED = """\
tree {tree}
author t <t@example.org> 1700000000 +0000
committer t <t@example.org> 1700000000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 x
 -----END PGP SIGNATURE-----

x
"""
# What a repository's own configuration may ask of whoever reads it.
CONFIGURED: dict[str, dict[str, str]] = {
    "signatures": {"log.showSignature": "true", "gpg.program": "{harm}"},
    "helper": {"protocol.ext.allow": "always", "remote.far.url": "ext::{harm}"},
    "upload": {"protocol.file.allow": "always", "remote.far.url": "{work}",
               "remote.far.uploadpack": "{harm}"},
    "ssh": {"protocol.ssh.allow": "always", "remote.far.url": "ssh://h/r",
            "core.sshCommand": "{harm}"},
    "pager": {"core.pager": "{harm}", "pager.log": "{harm}", "core.editor": "{harm}"},
    "monitor": {"core.fsmonitor": "{harm}", "core.alternateRefsCommand": "{harm}",
                "uploadpack.packObjectsHook": "{harm}", "core.askPass": "{harm}"},
    "alias": {"alias.cat-file": "!{harm}", "alias.ls-tree": "!{harm}"},
    "filter": {"filter.x.smudge": "{harm}", "filter.x.clean": "{harm}", "diff.x.textconv": "{harm}",
               "diff.external": "{harm}"},
}  # fmt: skip


@pytest.mark.parametrize("is_bare", [False, True])
@pytest.mark.parametrize("name", CONFIGURED)
def test_a_repository_cannot_have_its_programs_run(
    tmp_path: Path, name: str, is_bare: bool
) -> None:
    """The repository lacks a tree besides, so that git would go and fetch it if it may."""
    mark, harm = tmp_path / "harmed", tmp_path / "harm.sh"
    harm.write_text(f"#!/bin/sh\ntouch {mark}\n")
    harm.chmod(0o755)
    work = tmp_path / "training_results_v4.0"
    git(tmp_path, "init", "-q", "-b", "main", str(work))
    (work / "Sub" / "systems").mkdir(parents=True)
    (work / "Sub" / "systems" / "a.json").write_text("{}")
    (work / ".gitattributes").write_text("* filter=x diff=x\n")
    git(work, "add", "-A")
    root = git(work, "write-tree").strip()
    commit = git(
        work, "hash-object", "-t", "commit", "-w", "--stdin", feed=SIGNED.format(tree=root).encode()
    ).strip()
    git(work, "update-ref", "refs/heads/main", commit)
    if name not in ("signatures", "pager"):
        lost = git(work, "rev-parse", "HEAD:Sub").strip()
        (work / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    promised = {"extensions.partialClone": "far", "core.repositoryFormatVersion": "1",
                "remote.far.promisor": "true"}  # fmt: skip
    for key, value in {**promised, **CONFIGURED[name]}.items():
        git(work, "config", key, value.format(harm=harm, work=work))
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (work / ".git" / "hooks").mkdir(exist_ok=True)
        shutil.copy(harm, work / ".git" / "hooks" / hook)
    source = work.rename(tmp_path / "training_results_v4.0.git") / ".git" if is_bare else work
    try:
        taken = pin("v4.0", source)
        assert is_bare or taken.kind == "tree"
        list(files(taken, tmp_path / "cache"))
    except SourceError:
        assert is_bare
    assert not mark.exists()


def test_a_folder_that_nests_without_end_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "training_results_v4.0"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        with pytest.raises(SourceError):
            pin("v4.0", folder)
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)
