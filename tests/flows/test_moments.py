"""Every moment of a run: what a kill would leave there is readable, and the next run repairs it.

A run stops before each change that it makes to its data folder, and after each step of an
analysis, while the folder is copied: a killed process leaves just that. So one run shows all its
moments. test_faults.py kills for real, at some of them.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from flows.as_of import build
from gpurank.settings import Settings, load
from gpurank.store.run_lock import writing
from gpurank.store.versions import Store
from tasks.build import publish
from tasks.ingest.round import ingest_round

pytestmark = pytest.mark.slow

_RUN = """
import os, sys
import great_expectations
from tasks.ingest import round as ingest
# In this process, so that its changes are seen.
ingest.run_in_subprocess = lambda function, *args, follow=None: function(*args)
from flows.analyze import build_warehouse
from gpurank.settings import load
from gpurank.store.run_lock import writing
from tasks.ingest import round as ingest
job, home, source = sys.argv[1:4]
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.rmtree"}

def stop():
    print("now", flush=True)
    assert sys.stdin.readline() == "go on\\n"

def hook(event, arguments):
    if event == "open":
        path, _, flags = arguments
        is_change = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
    else:
        path, is_change = (arguments or ("",))[0], event in CHANGES
    if is_change and isinstance(path, (str, bytes, os.PathLike)) and (
        os.fsdecode(path).startswith(home)
    ):
        stop()

def run_and_stop(name, stage, *arguments):
    result = stage(*arguments)
    stop()
    return result

settings = load(home=home, source=source, workers=1, environ={})
sys.addaudithook(hook)
with writing(settings.lock_path, "gpurank test"):
    if job == "ingest":
        ingest.ingest_round("v3.0", settings)
    else:
        build_warehouse(settings, run_and_stop)
"""
# Made again with each run, or nothing but its time.
_FREE = ("gpurank.lock", "reports", "rounds.lock.yml", ".rounds.lock.yml.lock")


def moments(job: str, settings: Settings, folder: Path) -> Iterator[Settings]:
    """A copy of the data folder at each moment of a run, and after its end."""
    script = folder / "run.py"
    script.write_text(_RUN)
    child = subprocess.Popen(
        [sys.executable, str(script), job, str(settings.home), str(settings.source)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdin and child.stdout
    copied = replace(settings, home=folder / "moment")
    try:
        while True:
            line = child.stdout.readline()
            assert line in ("now\n", "")
            shutil.rmtree(copied.home, ignore_errors=True)
            shutil.copytree(settings.home, copied.home)
            yield copied
            if not line:
                break
            child.stdin.write("go on\n")
            child.stdin.flush()
        assert child.wait(60) == 0
    finally:
        child.kill()
        child.wait()


def contents(settings: Settings) -> dict[str, str]:
    """Hash of each file, but for those that are free to differ."""
    found = {}
    for path in sorted(settings.home.rglob("*")):
        name = path.relative_to(settings.home)
        if path.is_file() and name.parts[0] not in _FREE:
            found[str(name)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def scalings(settings: Settings) -> int:
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        (count,) = con.execute("select count(*) from raw.scaling").fetchone() or (0,)
        return int(count)


def sweep(settings: Settings) -> None:
    Store(settings.raw_dir).sweep()
    publish.sweep(settings)


@pytest.fixture(scope="module")
def prepared(
    tmp_path_factory: pytest.TempPathFactory, invented_round: Callable[..., Path]
) -> Settings:
    """v3.0 in use, and corrected upstream since."""
    folder = tmp_path_factory.mktemp("prepared")
    root = invented_round(folder / "mirror", "v3.0")
    made = load(home=folder / "home", source=str(folder / "mirror"), workers=1, environ={})
    ingest_round("v3.0", made)
    build(made)
    (root / "Acme/results/acme_n1/resnet/scaling.json").write_text('{"scaling_factor": 1.25}')
    return made


@pytest.fixture
def settings(prepared: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(
        "tasks.ingest.round.run_in_subprocess", lambda function, *args, **_: function(*args)
    )
    shutil.copytree(prepared.home, tmp_path / "home")
    return replace(prepared, home=tmp_path / "home")


def test_at_every_moment_of_an_ingest_nothing_is_lost_and_nothing_half_there(
    settings: Settings, tmp_path: Path
) -> None:
    before = contents(settings)
    old = Store(settings.raw_dir).latest("v3.0")
    assert old is not None
    states: dict[str, Path] = {}
    count = 0
    for moment in moments("ingest", settings, tmp_path):
        count += 1
        store = Store(moment.raw_dir)
        latest = store.latest("v3.0")
        assert latest is not None, count
        # Whatever can be seen is whole: the pointer's version, the old one, and any other.
        versions = store.versions("v3.0")
        assert old in versions and latest in versions, count
        assert all(store.damage(item) == () for item in versions), count
        assert scalings(moment) == 0
        sweep(moment)
        held = contents(moment)
        kept = {name for name in before if name not in held or held[name] != before[name]}
        assert kept <= {f"raw/v3.0/{name}" for name in ("latest", "published.json", "seen.json")}
        states.setdefault(repr(held), tmp_path / f"state-{count}")
        if not states[repr(held)].exists():
            shutil.copytree(moment.home, states[repr(held)])
    assert count > 20
    new = Store(settings.raw_dir).latest("v3.0")
    assert new is not None and new != old
    for home in states.values():
        again = replace(settings, home=home)
        with writing(again.lock_path, "gpurank test"):
            ingest_round("v3.0", again)
        latest = Store(again.raw_dir).latest("v3.0")
        assert latest is not None
        assert (latest.version_id, latest.hashes) == (new.version_id, new.hashes), home
        assert {path.name for path in (home / "raw" / "v3.0").iterdir()} == {
            "latest", "published.json", "seen.json", old.version_id, new.version_id,
        }, home  # fmt: skip


def test_at_every_moment_of_an_analysis_the_warehouse_is_the_old_or_the_new(
    settings: Settings, tmp_path: Path
) -> None:
    ingest_round("v3.0", settings)
    before, seen, count = contents(settings), [], 0
    for moment in moments("analyze", settings, tmp_path):
        count += 1
        seen.append(scalings(moment))
        sweep(moment)
        held = contents(moment)
        # Swept, the folder is the one before (from which a run starts) or the one after.
        if seen[-1] == 0:
            assert held == before, count
        else:
            assert held | {"warehouse.duckdb": ""} == before | {"warehouse.duckdb": ""}, count
    assert count > 10  # the stages alone
    assert seen == sorted(seen) and {0, 1} == set(seen)
    assert scalings(settings) == 1 and not list(settings.home.glob("*.building*"))
