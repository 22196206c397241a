"""Retention never takes what is needed; freshness is told; logs are lines of JSON."""

from __future__ import annotations

import contextvars
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from flows.console import Console, set_console
from flows.progress import JsonLines
from gpurank.operations import freshness_checks
from gpurank.operations import watch_record as watching
from gpurank.operations.watch_record import Finding, WatchRecord
from gpurank.settings import Settings
from gpurank.store.versions import Manifest, Store
from tasks.ingest.round import IngestResult
from tasks.upkeep import prune


def add(store: Store, content: str, day: int, state: str = "complete") -> Manifest:
    manifest = Manifest(
        "v9.9", f"{content}-1", state, "full", "git", "u", None, content, content, "k",
        f"2030-01-{day:02}T00:00:00+00:00", 0, 0,
    )  # fmt: skip
    with store.building("v9.9") as folder:
        (folder / "run.parquet").write_bytes(b"x" * 10)
        sealed = store.seal(folder, manifest)
    if state == "complete":
        store.publish(sealed)
    return sealed


def warehouse(settings: Settings, version: str) -> None:
    with duckdb.connect(str(settings.warehouse_path)) as con:
        con.execute("create schema raw")
        con.execute("create table raw.round_version (round_id varchar, version_id varchar)")
        con.execute("insert into raw.round_version values ('v9.9', ?)", [version])


def test_what_is_in_use_or_referred_to_is_never_pruned(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    store = Store(settings.raw_dir)
    for day, content in enumerate(("a", "b", "c", "d"), 1):
        add(store, content, day)
    warehouse(settings, "b-1")
    settings.as_of_dir.mkdir()
    chosen = prune.candidates(settings, keep=1)
    assert [item.version_id for item in chosen] == ["a-1", "c-1"]
    assert all(item.byte_count > 10 for item in chosen)
    prune.remove(settings, chosen)
    assert [item.version_id for item in store.versions("v9.9")] == ["b-1", "d-1"]
    assert store.latest("v9.9") is not None and not settings.as_of_dir.exists()
    assert prune.candidates(settings, keep=1) == ()


def test_keeping_counts_published_versions_and_failed_ones_go_when_they_are_over(
    tmp_path: Path,
) -> None:
    settings = Settings(tmp_path)
    store = Store(settings.raw_dir)
    add(store, "a", 1)
    add(store, "f", 2, state="failed")
    add(store, "b", 3)
    add(store, "g", 4, state="failed")
    assert [item.version_id for item in prune.candidates(settings, keep=2)] == ["f-1"]


def test_a_damaged_warehouse_stops_pruning(tmp_path: Path) -> None:
    from gpurank.answers.warehouse import NoData

    settings = Settings(tmp_path)
    add(Store(settings.raw_dir), "a", 1)
    settings.warehouse_path.write_bytes(b"not a database")
    with pytest.raises(NoData):
        prune.candidates(settings, keep=1)


def states(settings: Settings, days: float | None = None) -> dict[str, str]:
    return {what: state for what, state, _ in freshness_checks.rows(settings, {}, days)}


def test_an_old_watch_is_noted_and_bad_only_for_who_asks(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    assert states(settings) == {"last watch": "note"}
    assert states(settings, 9) == {"last watch": "bad"}
    ended = (datetime.now(UTC) - timedelta(days=10)).isoformat()
    findings = (Finding("v6.1", "new"), Finding("v7.0", "unanswered", message="no"))
    watching.write(settings.watch_path, WatchRecord(ended, ended, "r", False, findings))
    expected = {"last watch": "note", "not answered": "note", "new bytes": "behind"}
    assert states(settings) == expected
    assert states(settings, 9) == expected | {"last watch": "bad"}
    assert states(settings, 11)["last watch"] == "good"
    later = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    watching.write(settings.watch_path, WatchRecord(later, later, "r", True))
    assert states(settings) == {"clock": "note", "last watch": "good"}


def test_a_warehouse_of_other_versions_is_noted(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    add(Store(settings.raw_dir), "a", 1)
    for version, expected in (("a-1", "good"), ("b-1", "note")):
        found = {
            what: state for what, state, _ in freshness_checks.rows(settings, {"v9.9": version})
        }
        assert found["warehouse age"] == expected


def test_each_log_line_is_an_object_with_time_level_and_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def write() -> None:
        set_console(Console(is_json=True, run_id="run-1"))
        lines = JsonLines({})
        lines.say("two\nlines")
        lines.show_result(IngestResult("v4.0", "failed", message="broken"))

    contextvars.copy_context().run(write)
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["level"], first["message"], first["run_id"]) == ("info", "two\nlines", "run-1")
    assert datetime.fromisoformat(first["time"]).tzinfo is not None
    assert (second["level"], second["round_id"], second["state"]) == ("error", "v4.0", "failed")
