"""A run that is killed at any moment leaves the last good state; the next run completes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from flows.as_of import build
from gpurank.declared.validation import ValidationFailed
from gpurank.settings import Settings, load
from gpurank.store.versions import Store
from tasks.build import publish
from tasks.ingest.round import ingest_round

_INGEST = """
import sys
from gpurank.store.run_lock import writing
from gpurank.settings import load
from tasks.ingest.round import ingest_round
if __name__ == "__main__":
    settings = load(home=sys.argv[1], source=sys.argv[2])
    with writing(settings.lock_path, "gpurank ingest"):
        print("go", flush=True)
        ingest_round("v3.0", settings)
        print("done", flush=True)
"""

_BUILD = """
import sys, time
from gpurank.store.run_lock import writing
from gpurank.settings import load
from flows.analyze import build_warehouse

def wait_at_stage(name, stage, *arguments):
    if name == sys.argv[2]:
        print("go", flush=True)
        time.sleep(60)
    return stage(*arguments)

if __name__ == "__main__":
    settings = load(home=sys.argv[1])
    with writing(settings.lock_path, "gpurank analyze"):
        build_warehouse(settings, wait_at_stage)
"""


def results(settings: Settings) -> int:
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        (count,) = con.execute("select count(*) from marts.result").fetchone() or (0,)
        return int(count)


def start(script: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    script.write_text(code)
    child = subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "go\n"
    return child


def kill(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGKILL)
    child.wait()


@pytest.mark.parametrize("delay_s", [0.0, 0.4, 0.8, 1.2, 2.0])
def test_a_killed_ingest_publishes_nothing_or_all(
    mirror: Path, tmp_path: Path, delay_s: float
) -> None:
    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    child = start(tmp_path / "run.py", _INGEST, str(settings.home), str(mirror))
    time.sleep(delay_s)
    kill(child)
    store = Store(settings.raw_dir)
    latest = store.latest("v3.0")
    assert latest is None or store.damage(latest) == ()
    time.sleep(0.5)  # the reader ends with its parent
    store.sweep()
    done = ingest_round("v3.0", settings)
    assert done.state in ("ingested", "unchanged")
    folder = settings.raw_dir / "v3.0"
    assert {path.name for path in folder.iterdir()} == {
        "latest", "published.json", "seen.json", done.version_id,
    }  # fmt: skip


def test_a_killed_analysis_leaves_the_warehouse_that_was_there(
    mirror: Path, tmp_path: Path
) -> None:
    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    ingest_round("v3.0", settings)
    build(settings)
    assert results(settings) == 2
    ingest_round("v4.0", settings)
    child = start(tmp_path / "run.py", _BUILD, str(settings.home), "method")
    kill(child)
    assert results(settings) == 2
    assert publish.sweep(settings) == 1
    build(settings)
    assert results(settings) == 4
    assert list(settings.home.glob("*.building*")) == []


def test_open_readers_keep_what_they_opened(mirror: Path, tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    ingest_round("v3.0", settings)
    build(settings)
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as reader:
        ingest_round("v4.0", settings)
        build(settings)
        assert reader.execute("select count(*) from marts.result").fetchone() == (2,)
        other = subprocess.run(
            [
                sys.executable, "-c",
                "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=True); "
                "print(con.execute('select count(*) from marts.result').fetchone()[0])",
                str(settings.warehouse_path),
            ],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert other.stdout == "4\n"


def test_a_round_that_shrank_by_much_is_published_only_on_request(
    mirror: Path, tmp_path: Path
) -> None:
    from gpurank.errors import Exit, explain

    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    good = ingest_round("v3.0", settings)
    shutil.rmtree(mirror / "training_results_v3.0" / "Zeta")
    with pytest.raises(ValidationFailed) as failed:
        ingest_round("v3.0", settings)
    code, message = explain(failed.value)
    assert code == Exit.VALIDATION and "--accept-shrink" in message
    store = Store(settings.raw_dir)
    latest = store.latest("v3.0")
    assert latest is not None and latest.version_id == good.version_id
    (kept,) = (item for item in store.versions("v3.0") if item.state == "failed")
    page = settings.reports_dir / f"validation-v3.0-{kept.version_id}.html"
    assert "shrink" in page.read_text()
    done = ingest_round("v3.0", replace(settings, accept_shrink=True))
    assert done.state == "ingested" and done.version_id == kept.version_id


def test_a_full_disk_is_told_and_changes_nothing(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpurank.errors import Exit, explain

    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    ingest_round("v3.0", settings)
    good = Store(settings.raw_dir).latest("v3.0")
    logs = mirror / "training_results_v3.0" / "Acme" / "results" / "acme_n1" / "resnet"
    (logs / "scaling.json").write_text('{"scaling_factor": 1.25}')

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as failed:
        ingest_round("v3.0", settings)
    monkeypatch.undo()
    code, message = explain(failed.value)
    assert code == Exit.STORAGE and "disk is full" in message
    assert Store(settings.raw_dir).latest("v3.0") == good
    assert ingest_round("v3.0", settings).state == "ingested"
