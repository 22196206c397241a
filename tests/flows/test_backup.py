"""The backup of docs/operations.md as it is printed: of a folder that a run is changing."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from flows.as_of import build
from gpurank.settings import Settings, load
from gpurank.store.versions import Store
from tasks.ingest.round import ingest_round

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
_BLOCK = re.compile(r"test_backup\.py runs it -->\n```bash\n(.*?)```", re.DOTALL)

pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed")


def backup() -> list[str]:
    return _BLOCK.findall(PAGE.read_text(encoding="utf-8"))[0].splitlines()


def restore() -> list[str]:
    return _BLOCK.findall(PAGE.read_text(encoding="utf-8"))[1].splitlines()


def shell(command: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env={"PATH": path, "HOME": str(folder)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stdout, done.stderr)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def correct(mirror: Path, number: int) -> None:
    logs = mirror / "training_results_v3.0" / "Acme" / "results" / "acme_n1" / "resnet"
    (logs / "scaling.json").write_text(f'{{"scaling_factor": 1.{number}}}')


@pytest.fixture
def settings(mirror: Path, tmp_path: Path) -> Settings:
    made = load(home=tmp_path / "data", source=str(mirror), environ={})
    ingest_round("v3.0", made)
    build(made)
    return made


def test_what_was_backed_up_comes_back(settings: Settings, mirror: Path, tmp_path: Path) -> None:
    for number in (0, 1):
        correct(mirror, number)
        ingest_round("v3.0", settings)
        for command in backup():
            shell(command, tmp_path)
    before = contents(settings.raw_dir)
    shutil.rmtree(settings.home)
    *commands, analyze, _ = restore()
    assert analyze.endswith("gpurank analyze")
    for command in commands:
        shell(command, tmp_path)
    assert contents(settings.raw_dir) == before
    assert (settings.home / "rounds.lock.yml").is_file()
    build(settings)
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        assert con.execute("select count(*) from marts.version").fetchone() == (3,)
    shell(restore()[-1], tmp_path)


def test_a_backup_of_a_folder_that_changes_is_whole_after_each_step(
    settings: Settings, mirror: Path, tmp_path: Path
) -> None:
    for command in backup():
        shell(command, tmp_path)
    # Between any two commands the round gets another version; a half-built one lies about.
    (settings.raw_dir / "v3.0" / ".building-1-x").mkdir()
    for number, command in enumerate(backup()):
        shell(command, tmp_path)
        store = Store(tmp_path / "backup" / "raw")
        latest = store.latest("v3.0")
        assert latest is not None and store.damage(latest) == (), command
        assert not list((tmp_path / "backup" / "raw").rglob(".building*"))
        correct(mirror, number)
        ingest_round("v3.0", settings)
