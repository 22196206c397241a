"""Faults injected at every step: the state before stays readable, the next run repairs.

A fault is a kill at the n-th change that a run makes to its data folder, counted by an audit hook,
and at each step of the analysis, so that none can be forgotten. One in ten is tried;
test_moments.py looks at the folder at each of them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.as_of import build
from gpurank.errors import Exit, explain
from gpurank.settings import Settings, load
from gpurank.store.run_lock import writing
from gpurank.store.versions import Store
from tasks.build import publish
from tasks.ingest.round import ingest_round

# Runs one job in a forked child again and again, killed at the 1st, 2nd, … change of its folder.
_TRIALS = """
import json, os, shutil, signal, sys
import great_expectations
from tasks.ingest import round as ingest
# In this process, so that its changes are seen.
ingest.run_in_subprocess = lambda function, *args, follow=None: function(*args)
from flows.analyze import build_warehouse, run_directly
from gpurank.store.run_lock import writing
from gpurank.settings import load
from gpurank.store.versions import Store
from tasks.build import publish
from tasks.ingest import round as ingest, raw_tables as parse
from tasks.sources import snapshot
from tasks.checks import validate
job, home, pristine, source, stride = sys.argv[1:6]
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.rmtree"}

def work(run):
    settings = load(home=home, source=source, environ={})
    with writing(settings.lock_path, "gpurank test"):
        Store(settings.raw_dir).sweep()
        publish.sweep(settings)
        if job == "ingest":
            ingest.ingest_round("v3.0", settings)
        else:
            build_warehouse(settings, run)

def kill_at(wanted):
    seen = 0
    def tick():
        nonlocal seen
        seen += 1
        if seen == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
    def hook(event, arguments):
        if event == "open":
            path, mode, flags = arguments
            is_change = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        else:
            path, is_change = (arguments or ("",))[0], event in CHANGES
        if is_change and isinstance(path, (str, bytes, os.PathLike)) and (
            os.fsdecode(path).startswith(home)
        ):
            tick()
    def run(name, stage, *arguments):
        result = stage(*arguments)
        tick()
        return result
    sys.addaudithook(hook)
    return run

def forked(wanted):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(kill_at(wanted) if wanted else run_directly)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def main():
    place = 1
    while True:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(pristine, home)
        code = forked(place)
        print(json.dumps(["killed", place, code]), flush=True)
        if sys.stdin.readline() != "looked\\n":
            break
        if code != -signal.SIGKILL:
            break
        print(json.dumps(["repaired", place, forked(0)]), flush=True)
        if sys.stdin.readline() != "looked\\n":
            break
        place += int(stride)

if __name__ == "__main__":  # not in a process that the job makes
    main()
"""
# One change in ten is tried; with 1, every one.
STRIDE = "10"


def results(settings: Settings) -> list[Any]:
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        sql = "select round_id, submitter, score_min from marts.result order by all"
        return con.execute(sql).fetchall()


def trials(
    job: str, settings: Settings, pristine: Path, folder: Path
) -> Iterator[tuple[str, int, int]]:
    script = folder / "trials.py"
    script.write_text(_TRIALS)
    command = [sys.executable, str(script), job, str(settings.home), str(pristine)]
    child = subprocess.Popen(
        [*command, str(settings.source), STRIDE],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert child.stdin and child.stdout
    try:
        while line := child.stdout.readline():
            what, place, code = json.loads(line)
            yield what, place, code
            child.stdin.write("looked\n")
            child.stdin.flush()
    finally:
        child.kill()
        child.wait()


def prepared(mirror: Path, tmp_path: Path) -> tuple[Settings, Path]:
    """A folder with v3.0 in use, upstream already corrected, and a copy of it."""
    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    ingest_round("v3.0", settings)
    build(settings)
    logs = mirror / "training_results_v3.0" / "Acme" / "results" / "acme_n1" / "resnet"
    (logs / "scaling.json").write_text('{"scaling_factor": 1.25}')
    return settings, tmp_path / "pristine"


def test_a_kill_at_any_change_of_an_ingest_loses_nothing(mirror: Path, tmp_path: Path) -> None:
    settings, pristine = prepared(mirror, tmp_path)
    shutil.copytree(settings.home, pristine)
    old = Store(settings.raw_dir).latest("v3.0")
    assert old is not None
    reached = 0
    for what, place, code in trials("ingest", settings, pristine, tmp_path):
        store = Store(settings.raw_dir)
        latest = store.latest("v3.0")
        assert latest is not None and store.damage(latest) == (), (what, place)
        assert store.damage(old) == (), (what, place)
        if what == "repaired" or code == 0:
            assert code == 0 and latest != old, (what, place)
            left = {path.name for path in (settings.raw_dir / "v3.0").iterdir()}
            assert left == {
                "latest", "published.json", "seen.json", old.version_id, latest.version_id,
            }, (what, place)  # fmt: skip
        reached = place
    assert reached > 20


@pytest.mark.slow
def test_a_kill_at_any_change_of_an_analysis_loses_nothing(mirror: Path, tmp_path: Path) -> None:
    settings, pristine = prepared(mirror, tmp_path)
    before = results(settings)
    ingest_round("v3.0", settings)
    shutil.copytree(settings.home, pristine)
    after = [("v3.0", "Acme", pytest.approx(40.0)), ("v3.0", "Zeta", pytest.approx(10.0))]
    reached = 0
    for what, place, code in trials("analyze", settings, pristine, tmp_path):
        reached = place
        found = results(settings)
        assert found in (before, after), (what, place)
        if what == "repaired" or code == 0:
            assert code == 0 and found == after, (what, place)
            assert not list(settings.home.glob("*.building*")), (what, place)
    assert reached > 10  # the stages alone


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own in memory, small."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems can only be mounted by root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def fill(folder: Path, leave_b: int) -> Path:
    """Take all space but so much."""
    path = folder / "ballast"
    free = shutil.disk_usage(folder).free
    path.write_bytes(bytes(max(0, free - leave_b)))
    return path


def test_a_full_disk_is_told_and_the_next_run_repairs(
    mirror: Path, tmp_path: Path, small_disk: Path
) -> None:
    settings, _ = prepared(mirror, tmp_path)
    shutil.move(settings.home, small_disk / "home")
    settings = replace(settings, home=small_disk / "home")
    before, old = results(settings), Store(settings.raw_dir).latest("v3.0")
    for leave_b in (0, 16_384, 65_536):
        ballast = fill(small_disk, leave_b)
        with pytest.raises(Exception) as failed:
            ingest_round("v3.0", settings)
        code, message = explain(failed.value)
        assert code == Exit.STORAGE and "full" in message, (leave_b, message)
        assert Store(settings.raw_dir).latest("v3.0") == old
        ballast.unlink()
    assert ingest_round("v3.0", settings).state == "ingested"
    for leave_b in (0, 1_000_000):
        ballast = fill(small_disk, leave_b)
        with pytest.raises(Exception) as failed:
            build(settings)
        code, message = explain(failed.value)
        assert code == Exit.STORAGE and "full" in message, (leave_b, message)
        assert results(settings) == before
        ballast.unlink()
    build(settings)
    assert results(settings) != before


def test_a_read_only_folder_answers_and_refuses_to_change(
    mirror: Path, tmp_path: Path, small_disk: Path
) -> None:
    from gpurank.answers.warehouse import open_warehouse
    from gpurank.operations import health

    settings, _ = prepared(mirror, tmp_path)
    shutil.move(settings.home, small_disk / "home")
    settings = replace(settings, home=small_disk / "home")
    remount(small_disk, "ro")
    with open_warehouse(settings.warehouse_path) as con:
        assert con.execute("select count(*) from marts.result").fetchone() == (2,)
    assert ("lock", "good", "free") in health.examine(settings).rows
    for change in (lambda: ingest_round("v3.0", settings), lambda: build(settings)):
        with pytest.raises(Exception) as failed, writing(settings.lock_path):
            change()
        code, message = explain(failed.value)
        assert code == Exit.STORAGE and "read-only" in message, message
    remount(small_disk, "rw")
    assert ingest_round("v3.0", settings).state == "ingested"


def test_a_remote_that_goes_away_in_mid_fetch_changes_nothing(
    remotes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks.sources import snapshot
    from tasks.sources.snapshot import SourceError

    settings = load(home=tmp_path / "home", source=remotes.template, environ={})
    remotes.add("v6.1")
    good = ingest_round("v6.1", settings)
    remotes.edit_system("v6.1", "Acme", number_of_nodes="2")
    remotes.publish("v6.1")
    real, hidden = snapshot.pin, tmp_path / "hidden.git"

    def pin_and_lose(round_id: str, source: Any, *options: Any) -> Any:
        pinned = real(round_id, source, *options)
        remotes.bare("v6.1").rename(hidden)
        return pinned

    monkeypatch.setattr("tasks.ingest.round.pin", pin_and_lose)
    with pytest.raises(SourceError):
        ingest_round("v6.1", settings)
    monkeypatch.undo()
    latest = Store(settings.raw_dir).latest("v6.1")
    assert latest is not None and latest.version_id == good.version_id
    hidden.rename(remotes.bare("v6.1"))
    # Half a cache is made whole.
    (config,) = (settings.cache_dir / "git").glob("*/HEAD")
    config.unlink()
    again = ingest_round("v6.1", settings)
    assert again.state == "ingested" and again.version_id != good.version_id


@pytest.mark.parametrize("jump", ["1999-01-01T00:00:00+00:00", "2099-01-01T00:00:00+00:00"])
@pytest.mark.slow
def test_a_clock_that_jumps_disturbs_neither_pointer_nor_history(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: str
) -> None:
    from gpurank.store import versions as module
    from gpurank.store.history import publications
    from tasks.ingest import round as ingest

    settings, _ = prepared(mirror, tmp_path)
    with monkeypatch.context() as jumped:
        for where in (module, ingest):
            jumped.setattr(where, "now", lambda: jump)
        wrong = ingest_round("v3.0", settings)
    logs = mirror / "training_results_v3.0" / "Acme" / "results" / "acme_n1" / "resnet"
    (logs / "scaling.json").write_text('{"scaling_factor": 1.5}')
    right = ingest_round("v3.0", settings)
    known = [item.manifest.version_id for item in publications(Store(settings.raw_dir), "v3.0")]
    assert known[1:] == [wrong.version_id, right.version_id] and len(known) == 3
    build(settings)
    assert ("v3.0", "Acme", pytest.approx(48.0)) in results(settings)


@pytest.mark.slow
def test_readers_never_fail_while_a_writer_publishes(mirror: Path, tmp_path: Path) -> None:
    from gpurank.answers.warehouse import open_warehouse

    settings, _ = prepared(mirror, tmp_path)
    source, stop, asked = tmp_path / "copy.duckdb", threading.Event(), [0]
    shutil.copyfile(settings.warehouse_path, source)
    faults: list[BaseException] = []

    def read() -> None:
        while not stop.is_set():
            try:
                with open_warehouse(settings.warehouse_path) as con:
                    assert con.execute("select count(*) from marts.result").fetchone() == (2,)
                asked[0] += 1
            except BaseException as fault:
                faults.append(fault)
                return

    # Processes of their own: a database is opened once a process, whatever its file becomes.
    outside = subprocess.Popen(
        [
            sys.executable, "-c",
            "import sys\nfrom pathlib import Path\n"
            "from gpurank.answers.warehouse import open_warehouse\n"
            "while not Path(sys.argv[2]).exists():\n"
            "    with open_warehouse(Path(sys.argv[1])) as con:\n"
            "        n = con.execute('select count(*) from marts.result').fetchone()[0]\n"
            "    assert n == 2, n\n",
            str(settings.warehouse_path), str(tmp_path / "stop"),
        ]
    )  # fmt: skip
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(60):
        with publish.temporary_file(settings) as path:
            shutil.copyfile(source, path)
            publish.swap(path, settings)
    (tmp_path / "stop").touch()
    stop.set()
    reader.join()
    assert outside.wait(30) == 0
    assert not faults and asked[0] > 5
