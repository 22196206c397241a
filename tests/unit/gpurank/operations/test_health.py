"""What `gpurank doctor` and `gpurank rounds` say of good and of damaged installations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from gpurank.answers.warehouse import NoData
from gpurank.operations import health
from gpurank.settings import Settings
from gpurank.store.run_lock import Owner, writing
from gpurank.store.versions import Manifest, Store, StoreError


def add(settings: Settings, content: str, state: str = "complete") -> Manifest:
    """A version of v9.9, in use unless it failed."""
    store = Store(settings.raw_dir)
    counts = {"folder": 5, "result": 4, "quarantined": 1, "run": 20, "issue": 3}
    manifest = Manifest(
        "v9.9", f"{content}-1", state, "full", "git", "u", "f" * 40, content, content, "k",
        "2030-01-01T00:00:00+00:00", 7, 70, counts=counts,
    )  # fmt: skip
    with store.building("v9.9") as folder:
        (folder / "run.parquet").write_bytes(b"x")
        sealed = store.seal(folder, manifest)
    if state == "complete":
        store.publish(sealed)
    return sealed


def found(settings: Settings) -> dict[str, tuple[str, str]]:
    return {what: (state, text) for what, state, text in health.examine(settings).rows}


def warehouse(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)


def test_before_anything_is_there(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "not" / "yet")
    rows = found(settings)
    assert rows["python"][0] == rows["duckdb"][0] == rows["lock"][0] == "good"
    assert rows["data folder"] == ("good", str(settings.home))
    assert rows["store"] == ("note", "no round yet; `gpurank run` ingests the shipped ones")
    assert rows["warehouse"][0] == "note"
    assert not settings.home.exists()
    with pytest.raises(NoData, match="no round has been ingested"):
        health.rounds(settings)


def test_rounds_count_what_their_version_in_use_holds(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    add(settings, "old")
    held = add(settings, "new")
    add(settings, "bad", "failed")
    warehouse(
        settings.warehouse_path,
        "create schema raw",
        f"create table raw.round_version as select 'v9.9' round_id, '{held.version_id}' version_id",
    )
    answer = health.rounds(settings)
    (row,) = [row for row in answer.dicts() if row["state"] == "held"]
    assert (row["version_id"], row["is_in_warehouse"]) == ("new-1", True)
    counted = ("files", "folders", "results", "quarantined", "runs", "issues", "failed_versions")
    assert [row[name] for name in counted] == [7, 5, 4, 1, 20, 3, 1]
    add(settings, "newer")
    (row,) = [row for row in health.rounds(settings).dicts() if row["state"] == "held"]
    assert row["is_in_warehouse"] is False


def test_a_damaged_version_is_bad(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    held = add(settings, "a")
    assert found(settings)["v9.9"] == ("good", "a-1, 1 files intact")
    path = Store(settings.raw_dir).folder("v9.9", held.version_id) / "run.parquet"
    path.write_bytes(b"other")
    state, told = found(settings)["v9.9"]
    assert state == "bad" and "run.parquet" in told and "ingest again" in told
    (settings.raw_dir / "v9.9" / "latest").write_text("gone-1\n")
    assert found(settings)["v9.9"][0] == "bad"


def test_the_warehouse_by_its_state(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    settings.warehouse_path.write_bytes(b"this is no database, only its name is")
    state, told = found(settings)["warehouse"]
    assert state == "bad" and "gpurank analyze" in told
    settings.warehouse_path.unlink()
    warehouse(settings.warehouse_path, "create table x as select 1")
    state, told = found(settings)["warehouse"]
    assert state == "bad" and "marts" in told and "gpurank analyze" in told
    with pytest.raises(NoData):
        health.rounds(settings)
    warehouse(
        settings.warehouse_path,
        "create schema marts",
        "create table marts.result as from (values ('v1.0', 2.0), ('v1.0', null), ('v2.0', 1.0)) "
        "as rows (round_id, score_min)",
    )
    state, told = found(settings)["warehouse"]
    assert state == "good" and told.startswith("3 results, 2 scored, 2 rounds, ")


def test_the_lock_by_its_holder(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    with writing(settings.lock_path, "gpurank run"):
        state, told = found(settings)["lock"]
        assert state == "note" and told.startswith("held by") and "gpurank run" in told
    assert found(settings)["lock"] == ("good", "free")
    # A run that was killed leaves its name behind.
    code = (
        "import os; from pathlib import Path; from gpurank.store.run_lock import writing\n"
        f"with writing(Path({str(settings.lock_path)!r}), 'gpurank run'): os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    state, told = found(settings)["lock"]
    assert state == "note" and told.startswith("free; ") and "the next run removes" in told


def test_a_machine_that_lacks_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_PACKAGES", ("no-such-package",))
    monkeypatch.setattr(health.shutil, "which", lambda _: None)
    monkeypatch.setattr(health.shutil, "disk_usage", lambda _: SimpleNamespace(free=1_500_000_000))
    monkeypatch.setattr(health.os, "access", lambda *_: False)
    rows = found(Settings(tmp_path))
    assert rows["no-such-package"] == ("bad", "not installed")
    assert rows["git"] == ("note", "absent: only mirrors can be read")
    assert rows["free space"] == ("note", "1.5 GB")
    assert rows["data folder"] == ("bad", f"{tmp_path} cannot be written")


def test_the_claim_on_object_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(tmp_path, remote="s3://bucket/x?region=y")
    assert "claim" not in found(Settings(tmp_path))
    answers: list[object] = [None, (Owner(7, "h", "2030-01-01T00:00:00+00:00", "gpurank run"), 9.0)]
    monkeypatch.setattr(health, "remote_holder", lambda _: answers.pop(0))
    assert found(settings)["claim"] == ("good", "free")
    state, text = found(settings)["claim"]
    assert state == "note" and "gpurank run" in text and "renewed 9 s ago" in text
    assert "deleting s3://bucket/x/claim.json ends it" in text

    def unreachable(_: Settings) -> None:
        raise StoreError("s3://bucket/x cannot be reached")

    monkeypatch.setattr(health, "remote_holder", unreachable)
    assert found(settings)["claim"] == ("bad", "s3://bucket/x cannot be reached")
