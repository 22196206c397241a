"""Git remotes, real ones in a temporary folder, and checked-out trees."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gpurank.logs import source_files as content
from tasks.sources.snapshot import (
    SourceError,
    SourceFile,
    SourceMissing,
    SourceUnavailable,
    available,
    content_hash,
    files,
    pin,
    source_date,
)

ROUND = "v4.0"
FILES = {
    "Sub/results/AS-4124GO-NART+/bert/result_0.txt": b"zero\r\n",
    "Sub/results/AS-4124GO-NART/bert/result_0.txt": b"\xff one",
    "Sub/results/X660 G45/.gitkeep": b"",
    "Sub/systems/README.md": b"# x\n",
    "Sub/systems/x.json": b"{}\n",
}
NOT_TAKEN = {"README.md": b"r\n", "Sub/code/train.py": b"code\n", "Sub/results/run.sh": b"run\n"}


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def in_path_order(files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    """By folder names one after the other: ``sys`` and all that is in it before ``sys+``."""
    return sorted(files.items(), key=lambda item: item[0].split("/"))


def write(folder: Path, entries: dict[str, bytes]) -> None:
    for name, data in entries.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def commit(remote: Path, work: Path) -> str:
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "x")
    git(work, "push", "-q", str(remote), "HEAD:published")
    return git(work, "rev-parse", "HEAD")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A checkout whose branch is called neither main nor master."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "published")
    git(folder, "config", "core.autocrlf", "false")
    write(folder, FILES | NOT_TAKEN)
    return folder


@pytest.fixture
def remote(tmp_path: Path, work: Path) -> Path:
    """A bare repository of it that serves partial clones."""
    folder = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "published", str(folder))
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    commit(folder, work)
    return folder


def url(remote: Path) -> str:
    """The repository as a remote that is fetched from, not as a folder that is read."""
    return f"file://{remote}"


def read(source: str | Path, cache: Path) -> list[SourceFile]:
    return list(files(pin(ROUND, source), cache))


def as_rows(found: list[SourceFile]) -> list[tuple[str, bytes]]:
    return [(file.path, file.data) for file in found]


def objects(cache: Path) -> set[str]:
    (repository,) = (cache / "git").glob("*.git")
    listing = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return set(listing.split())


def blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def test_only_the_wanted_files_and_the_readme_are_fetched(
    tmp_path: Path, remote: Path, work: Path
) -> None:
    source = url(remote)
    snapshot = pin(ROUND, source)
    head = git(work, "rev-parse", "HEAD")
    assert (snapshot.kind, snapshot.commit) == ("git", head)
    assert snapshot.fingerprint == f"git:{head}"
    found = read(source, tmp_path / "cache")
    assert as_rows(found) == in_path_order(FILES)
    held = objects(tmp_path / "cache")
    assert {blob(data) for data in FILES.values()} <= held
    left_out = {blob(data) for path, data in NOT_TAKEN.items() if path != "README.md"}
    assert not left_out & held


def test_an_amended_round_fetches_only_what_changed(
    tmp_path: Path, remote: Path, work: Path
) -> None:
    cache = tmp_path / "cache"
    old = pin(ROUND, url(remote))
    before = content_hash((f.path, f.content_id) for f in files(old, cache))
    had = objects(cache)
    write(work, {"Sub/systems/x.json": b'{"a": 1}\n', "README.md": b"new\n"})
    git(work, "add", "-A")
    git(work, "commit", "-q", "--amend", "-m", "y")
    git(work, "push", "-q", "-f", str(remote), "HEAD:published")
    new = pin(ROUND, url(remote))
    assert new.commit == git(work, "rev-parse", "HEAD") != old.commit
    after = content_hash((f.path, f.content_id) for f in files(new, cache))
    assert before != after
    trees = git(work, "ls-tree", "-r", "-t", "HEAD", "--format=%(objectname)").split()
    allowed = {
        blob(b'{"a": 1}\n'),
        blob(b"new\n"),
        new.commit,
        git(work, "rev-parse", "HEAD^{tree}"),
        *trees,
    }
    fetched = objects(cache) - had
    assert blob(b'{"a": 1}\n') in fetched
    assert fetched <= allowed
    # The old commit is still at hand, although no branch of the remote has it any more.
    assert content_hash((f.path, f.content_id) for f in files(old, cache)) == before


def test_nothing_is_asked_of_the_remote_when_all_is_at_hand(tmp_path: Path, remote: Path) -> None:
    snapshot = pin(ROUND, url(remote))
    first = as_rows(list(files(snapshot, tmp_path / "cache")))
    remote.rename(tmp_path / "gone.git")
    assert as_rows(list(files(snapshot, tmp_path / "cache"))) == first


@pytest.mark.parametrize("setting", ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"])
def test_plain_servers_serve_as_well(tmp_path: Path, remote: Path, setting: str) -> None:
    git(remote, "config", setting, "false")
    assert as_rows(read(url(remote), tmp_path / "cache")) == in_path_order(FILES)


def test_archive_checkout_and_remote_give_the_same(
    tmp_path: Path, remote: Path, work: Path
) -> None:
    head = git(work, "rev-parse", "HEAD")
    archive = tmp_path / f"training_results_{ROUND}.tar.gz"
    prefix = f"--prefix=training_results_{ROUND}-{head}/"
    git(work, "archive", "--format=tar.gz", prefix, "-o", str(archive), "HEAD")
    for source in (url(remote), remote, work / ".git", archive, work):
        snapshot = pin(ROUND, source)
        assert snapshot.commit == head
        assert as_rows(list(files(snapshot, tmp_path / "cache"))) == in_path_order(FILES)


def test_a_changed_or_incomplete_checkout_has_no_commit(
    work: Path, remote: Path, tmp_path: Path
) -> None:
    first = pin(ROUND, work)
    (work / "README.md").write_text("not taken\n")
    assert pin(ROUND, work) == first
    (work / "Sub/systems/x.json").unlink()
    assert pin(ROUND, work).commit is None
    write(work, {"Sub/systems/x.json": b"[]\n"})
    changed = pin(ROUND, work)
    assert changed.commit is None
    assert changed.fingerprint != first.fingerprint
    with pytest.raises(SourceError, match="changed while"):
        list(files(first, tmp_path))


def test_a_checkout_without_repository_takes_the_commit_of_its_name(tmp_path: Path) -> None:
    inside_another_repository = tmp_path
    git(inside_another_repository, "init", "-q")
    folder = tmp_path / "training_results_v4.0-0123456789ab"
    write(folder, FILES)
    assert pin(ROUND, tmp_path).commit == "0123456789ab"
    folder.rename(tmp_path / "training_results_v4.0")
    assert pin(ROUND, tmp_path).commit is None


def test_links_are_listed_and_never_followed(tmp_path: Path, remote: Path, work: Path) -> None:
    (work / "Sub/results/secret.txt").symlink_to("/etc/hostname")
    (work / "Sub/results/loop").symlink_to("..")
    commit(remote, work)
    for source in (url(remote), remote, work):
        withheld = {
            f.path: (f.withheld_reason, f.data, f.byte_count, f.sha256)
            for f in read(source, tmp_path / "cache")
            if f.withheld_reason
        }
        assert withheld == {
            f"Sub/results/{name}": (
                "symbolic link",
                b"",
                len(target),
                hashlib.sha256(target).hexdigest(),
            )
            for name, target in {"secret.txt": b"/etc/hostname", "loop": b".."}.items()
        }


def test_too_large_files_are_listed_the_same_everywhere(
    tmp_path: Path, remote: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = b"0123456789" * 1000
    write(work, {"Sub/results/s/bert/result_1.txt": large})
    commit(remote, work)
    monkeypatch.setattr(content, "FILE_LIMIT_B", 5000)
    by_source = [read(source, tmp_path / "cache") for source in (remote, work)]
    assert by_source[0] == by_source[1]
    (file,) = (f for f in by_source[0] if f.withheld_reason)
    assert (file.data, file.byte_count) == (b"", len(large))
    assert file.sha256 == hashlib.sha256(large).hexdigest()


def test_names_that_are_not_utf8(tmp_path: Path, remote: Path, work: Path) -> None:
    name = os.fsdecode(b"Sub/results/s\xb8.txt")
    write(work, {name: b"x"})
    commit(remote, work)
    for source in (url(remote), remote, work):
        paths = [file.path for file in read(source, tmp_path / "cache")]
        assert "Sub/results/s\\xb8.txt" in paths
        assert paths == sorted(paths, key=lambda path: path.split("/"))


def test_a_missing_repository_is_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="no such Git repository"):
        pin(ROUND, f"file://{tmp_path}/training_results_{{round}}.git")


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "empty.git")
    with pytest.raises(SourceError, match="without a commit"):
        pin(ROUND, tmp_path / "empty.git")


def test_a_silent_network_is_unavailable_and_never_missing(remote: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}/training_results_{{round}}"
        with pytest.raises(SourceUnavailable, match="try again later"):
            pin(ROUND, silent)


def test_a_commit_that_was_rewritten_away(tmp_path: Path, remote: Path) -> None:
    gone = replace(pin(ROUND, url(remote)), commit="1" * 40)
    with pytest.raises(SourceError, match="no longer has commit"):
        list(files(gone, tmp_path / "cache"))


def test_git_absent(remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceError, match="git is not installed"):
        pin(ROUND, url(remote))


def test_the_surroundings_do_not_leak_in(
    tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As inside a hook of another repository, with hostile settings."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    config = tmp_path / "gitconfig"
    config.write_text("[transfer]\n\tfsckObjects = true\n[core]\n\thooksPath = /nowhere\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    assert as_rows(read(url(remote), tmp_path / "cache")) == in_path_order(FILES)


SHIM = """#!/bin/sh
case "$*" in
*"$DIE_AT"*) "$REAL_GIT" "$@" & kill -9 $PPID; kill -9 $!; exit 1 ;;
*) exec "$REAL_GIT" "$@" ;;
esac
"""


@pytest.mark.parametrize("moment", ["--depth=1", "--stdin", "cat-file --batch"])
def test_a_killed_fetch_is_made_good_by_a_rerun(tmp_path: Path, remote: Path, moment: str) -> None:
    shim = tmp_path / "bin" / "git"
    write(tmp_path, {"bin/git": SHIM.encode()})
    shim.chmod(0o755)
    program = (
        "import sys; from pathlib import Path; from tasks.sources.snapshot import pin, files\n"
        "list(files(pin(sys.argv[1], sys.argv[2]), Path(sys.argv[3])))"
    )
    environment = os.environ | {
        "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}",
        "REAL_GIT": shutil.which("git") or "",
        "DIE_AT": moment,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, "-c", program, ROUND, url(remote), str(tmp_path / "cache")]
    killed = subprocess.run(command, env=environment, check=False, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert as_rows(read(url(remote), tmp_path / "cache")) == in_path_order(FILES)


@pytest.mark.parametrize("fault", ["locks", "packs", "index", "config", "empty"])
def test_a_broken_cache_is_built_anew(tmp_path: Path, remote: Path, fault: str) -> None:
    cache = tmp_path / "cache"
    read(url(remote), cache)
    (repository,) = (cache / "git").glob("*.git")
    packs = list((repository / "objects/pack").iterdir())
    if fault == "locks":
        (repository / "shallow.lock").touch()
        shutil.rmtree(repository / "refs/pinned")
    elif fault == "config":
        (repository / "config").write_text("[core\n")
    elif fault == "empty":
        shutil.rmtree(repository)
        repository.mkdir()
    for path in packs:
        if (fault, path.suffix) in {("packs", ".pack"), ("index", ".idx")}:
            path.chmod(0o644)
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    assert as_rows(read(url(remote), cache)) == in_path_order(FILES)


def test_a_template_names_git_directories(tmp_path: Path, remote: Path) -> None:
    for round_id in ("v4.0", "v4.1"):
        shutil.copytree(remote, tmp_path / f"org+training_results_{round_id}" / "repo")
    template = str(tmp_path / "org+training_results_{round}" / "repo")
    assert available(template) == ("v4.0", "v4.1")
    assert as_rows(read(template, tmp_path / "cache")) == in_path_order(FILES)
    assert not (tmp_path / "cache").exists()
    with pytest.raises(SourceError, match=r"is training_results_v4\.1 by its name"):
        pin("v4.0", template.replace("{round}", "v4.1"))


def test_a_git_directory_without_configuration_is_read(tmp_path: Path, remote: Path) -> None:
    """As in a snapshot that holds HEAD, objects and references alone."""
    (remote / "config").unlink()
    snapshot = pin(ROUND, remote)
    assert snapshot.committed_at is not None
    assert source_date(snapshot, tmp_path) == snapshot.committed_at
    assert as_rows(list(files(snapshot, tmp_path))) == in_path_order(FILES)


def test_a_partial_clone_is_refused_with_the_cause_and_the_remedy(
    tmp_path: Path, remote: Path
) -> None:
    partial = tmp_path / "partial.git"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", url(remote), str(partial))
    remote.rename(tmp_path / "moved.git")
    with pytest.raises(SourceError, match=r"lacks 5 of the 5 files.*partial clone.*--no-filter"):
        read(partial, tmp_path / "cache")
    treeless = tmp_path / "treeless.git"
    git(tmp_path, "clone", "-q", "--bare", "--filter=tree:0", url(tmp_path / "moved.git"),
        str(treeless))  # fmt: skip
    with pytest.raises(SourceError, match=r"lacks folders of commit .*partial clone"):
        read(treeless, tmp_path / "cache")


def test_the_remedy_completes_a_partial_clone(tmp_path: Path, remote: Path) -> None:
    partial = tmp_path / "partial.git"
    git(tmp_path, "clone", "-q", "--bare", "--filter=blob:none", url(remote), str(partial))
    git(tmp_path, f"--git-dir={partial}", "fetch", "-q", "--refetch", "--no-filter", "origin")
    assert as_rows(read(partial, tmp_path / "cache")) == in_path_order(FILES)


def test_a_copy_without_some_contents_is_refused(tmp_path: Path, remote: Path) -> None:
    lost = blob(FILES["Sub/results/AS-4124GO-NART/bert/result_0.txt"])
    path = remote / "objects" / lost[:2] / lost[2:]
    path.unlink()
    with pytest.raises(SourceError, match=r"lacks 1 of the 5 files.*NART/bert.*--accept-missing"):
        read(remote, tmp_path / "cache")


def test_an_accepted_copy_lists_what_it_lacks_and_is_no_complete_one(
    tmp_path: Path, remote: Path
) -> None:
    lost = "Sub/results/AS-4124GO-NART/bert/result_0.txt"
    identifier = blob(FILES[lost])
    complete = pin(ROUND, remote, accept_missing=True)
    assert complete.fingerprint == pin(ROUND, remote).fingerprint
    before = list(files(complete, tmp_path))
    (remote / "objects" / identifier[:2] / identifier[2:]).unlink()
    snapshot = pin(ROUND, remote, accept_missing=True)
    after = list(files(snapshot, tmp_path))
    assert [file.path for file in after] == [file.path for file in before]
    missing = {file.path: file for file in after if file.withheld_reason}
    assert missing.keys() == {lost}
    assert missing[lost].withheld_reason == (
        f"missing from this copy of the repository (Git blob {identifier})"
    )
    assert (missing[lost].data, missing[lost].byte_count, missing[lost].sha256) == (b"", None, None)
    assert snapshot.fingerprint != complete.fingerprint
    hashes = [content_hash((f.path, f.content_id) for f in found) for found in (before, after)]
    assert hashes[0] != hashes[1]
    assert hashes[0] == content_hash(
        (path, hashlib.sha256(data).hexdigest()) for path, data in FILES.items()
    )


def test_a_copy_without_any_content_is_refused_even_if_missing_files_are_accepted(
    tmp_path: Path, remote: Path
) -> None:
    for data in FILES.values():
        (remote / "objects" / blob(data)[:2] / blob(data)[2:]).unlink(missing_ok=True)
    with pytest.raises(SourceError, match=r"holds no file to read of commit"):
        list(files(pin(ROUND, remote, accept_missing=True), tmp_path))


def test_damage_in_a_git_directory_is_named(tmp_path: Path, remote: Path) -> None:
    lost = blob(FILES["Sub/systems/x.json"])
    path = remote / "objects" / lost[:2] / lost[2:]
    path.chmod(0o644)
    path.write_bytes(b"broken")
    with pytest.raises(SourceError, match=r"is damaged: .*fsck"):
        read(remote, tmp_path / "cache")


def test_a_shallow_clone_has_all_that_is_needed(tmp_path: Path, remote: Path) -> None:
    shallow = tmp_path / "shallow.git"
    git(tmp_path, "clone", "-q", "--bare", "--depth=1", url(remote), str(shallow))
    assert as_rows(read(shallow, tmp_path / "cache")) == in_path_order(FILES)


def test_a_clone_with_nothing_or_some_of_it_checked_out(tmp_path: Path, remote: Path) -> None:
    bare_of_files = tmp_path / "training_results_v4.0"
    git(tmp_path, "clone", "-q", "--no-checkout", str(remote), str(bare_of_files))
    with pytest.raises(SourceError, match=r"no file of a round checked out; give .*\.git"):
        read(bare_of_files, tmp_path / "cache")
    git(bare_of_files, "sparse-checkout", "set", "Sub/systems")
    git(bare_of_files, "checkout", "-q", "published")
    assert pin(ROUND, bare_of_files).commit is None
    assert len(read(bare_of_files, tmp_path / "cache")) == 2


def test_large_file_pointers_are_no_logs(tmp_path: Path, remote: Path, work: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    write(work, {"Sub/results/AS-4124GO-NART/bert/result_0.txt": pointer})
    commit(remote, work)
    for source in (remote, work):
        with pytest.raises(SourceError, match=r"LFS pointer in place of Sub/.*git lfs pull"):
            read(source, tmp_path / "cache")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user(tmp_path: Path, remote: Path) -> None:
    for path in (remote, *remote.rglob("*")):
        os.chown(path, 12345, 12345)
    assert as_rows(read(remote, tmp_path / "cache")) == in_path_order(FILES)
    try:
        found = as_rows(read(url(remote), tmp_path / "cache"))
    except SourceError as error:
        assert "belongs to another user" in str(error) and "safe.directory" in str(error)
    else:  # some versions of git serve it nevertheless
        assert found == in_path_order(FILES)
