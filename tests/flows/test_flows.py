"""Whole runs on an invented mirror, under a real orchestrator."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gpurank.settings import load
from gpurank.store.run_lock import LockHeld, writing
from gpurank.store.versions import Store

pytestmark = pytest.mark.flow

# Olympic means worked out by hand: the middle three of five, plus the round's shift.
EXPECTED = {
    ("v3.0", "Acme"): (32.0, 8), ("v3.0", "Zeta"): (10.0, 32),
    ("v4.0", "Acme"): (33.0, 8), ("v4.0", "Zeta"): (11.0, 32),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _served(orchestrator: None) -> Iterator[None]:
    yield


def run(mirror: Path, home: Path, rounds: str = "all") -> list[dict[str, Any]]:
    from flows.backfill import backfill

    found: list[dict[str, Any]] = backfill(rounds, str(mirror), str(home))
    return found


def marts(home: Path, out: Path) -> dict[str, bytes]:
    """Every mart, exported as Parquet."""
    out.mkdir()
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as con:
        names = con.sql(
            "select table_name from information_schema.tables "
            "where table_schema = 'marts' order by table_name"
        ).fetchall()
        for (name,) in names:
            con.execute(f"copy marts.{name} to '{out / name}.parquet' (format parquet)")
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def stamps(home: Path) -> dict[str, int]:
    return {
        str(path): path.stat().st_mtime_ns
        for path in sorted((home / "raw").rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_two_homes_give_the_same_versions_marts_and_right_numbers(
    mirror: Path, tmp_path: Path
) -> None:
    first = run(mirror, tmp_path / "a")
    second = run(mirror, tmp_path / "b")
    assert [item["state"] for item in first] == ["ingested", "ingested"]
    assert [item["version_id"] for item in first] == [item["version_id"] for item in second]
    with duckdb.connect(str(tmp_path / "a" / "warehouse.duckdb"), read_only=True) as con:
        rows = con.sql(
            "select round_id, submitter_folder, score_min, accelerator_count, accelerator_minutes "
            "from marts.result"
        ).fetchall()
        ranked = con.sql(
            "select round_id, rank, result_id, delay_cost from marts.ranking "
            "where scope = 'round' order by all"
        ).fetchall()
    assert {(r, s): (pytest.approx(t), n) for r, s, t, n, _ in rows} == EXPECTED
    assert all(am == pytest.approx(t * n) for _, _, t, n, am in rows)
    # T x (N + 8): Acme 32 x 16 = 512, Zeta 10 x 40 = 400.
    assert ranked[0] == ("v3.0", 1, "v3.0/Zeta/zeta_n4/resnet", pytest.approx(400.0))
    assert ranked[1] == ("v3.0", 2, "v3.0/Acme/acme_n1/resnet", pytest.approx(512.0))
    tables = marts(tmp_path / "a", tmp_path / "marts_a")
    assert "ranking.parquet" in tables
    assert tables == marts(tmp_path / "b", tmp_path / "marts_b")


def test_an_unchanged_round_is_not_read_again(mirror: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(mirror, home)
    before = stamps(home)
    again = run(mirror, home)
    assert [item["state"] for item in again] == ["unchanged", "unchanged"]
    assert stamps(home) == before


def test_a_changed_round_gets_a_new_version_beside_the_old(mirror: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (old, _) = run(mirror, home)
    scaling = mirror / "training_results_v3.0" / "Acme" / "results" / "acme_n1" / "resnet"
    (scaling / "scaling.json").write_text('{"scaling_factor": 1.25}')
    (new, other) = run(mirror, home)
    assert new["version_id"] != old["version_id"]
    assert (new["state"], other["state"]) == ("ingested", "unchanged")
    assert len(Store(home / "raw").versions("v3.0")) == 2
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as con:
        sql = "select score_min from marts.result where result_id = 'v3.0/Acme/acme_n1/resnet'"
        assert con.execute(sql).fetchone() == (pytest.approx(40.0),)
    # The bytes come back: the old version is taken up again without being read.
    (scaling / "scaling.json").unlink()
    (back, _) = run(mirror, home)
    assert (back["version_id"], back["state"]) == (old["version_id"], "unchanged")


@pytest.mark.slow
def test_a_poisoned_round_is_reported_and_the_others_complete(mirror: Path, tmp_path: Path) -> None:
    from flows.errors import RoundsFailed

    home = tmp_path / "home"
    (mirror / "training_results_v4.1.tar.gz").write_bytes(b"\x1f\x8b\x08\x00not gzip")
    with pytest.raises(RoundsFailed, match=r"v4\.1") as failed:
        run(mirror, home)
    assert failed.value.exit_code == 1
    states = {item.round_id: item.state for item in failed.value.outcomes}
    assert states == {"v3.0": "ingested", "v4.0": "ingested", "v4.1": "failed"}
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as con:
        assert con.execute("select count(*) from marts.result").fetchone() == (4,)


def test_an_empty_round_leaves_the_good_one_in_use(mirror: Path, tmp_path: Path) -> None:
    from flows.ingest import ingest

    home = tmp_path / "home"
    ingest("v3.0", str(mirror), str(home))
    good = Store(home / "raw").latest("v3.0")
    for folder in (mirror / "training_results_v3.0").iterdir():
        shutil.rmtree(folder / "results")
    with pytest.raises(Exception, match=r"v3\.0"):
        ingest("v3.0", str(mirror), str(home))
    assert Store(home / "raw").latest("v3.0") == good


def test_only_a_source_that_did_not_answer_is_asked_again(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import prefect_tasks as steps
    from flows.ingest import ingest
    from tasks.sources import snapshot

    asked: list[str] = []
    real = snapshot.pin

    def pin(round_id: str, source: str | None, *options: Any) -> snapshot.Snapshot:
        asked.append(round_id)
        if len(asked) < 2:
            raise snapshot.SourceUnavailable("no answer")
        return real(round_id, source, *options)

    monkeypatch.setattr("tasks.ingest.round.pin", pin)
    monkeypatch.setattr(steps.ingest_round, "retry_delay_seconds", [0, 0])
    ingest("v3.0", str(mirror), str(tmp_path / "home"))
    assert asked == ["v3.0", "v3.0"]

    def absent(round_id: str, source: str | None, *options: Any) -> snapshot.Snapshot:
        asked.append(round_id)
        raise snapshot.SourceMissing("not there")

    asked.clear()
    monkeypatch.setattr("tasks.ingest.round.pin", absent)
    with pytest.raises(snapshot.SourceMissing):
        ingest("v3.0", str(mirror), str(tmp_path / "home"))
    assert asked == ["v3.0"]


def test_a_flow_refuses_a_held_folder_and_changes_nothing(mirror: Path, tmp_path: Path) -> None:
    from flows.analyze import analyze

    home = tmp_path / "home"
    with writing(load(home=home).lock_path, "gpurank run"):
        before = sorted(home.rglob("*"))
        with pytest.raises(LockHeld, match="gpurank run"):
            run(mirror, home)
        with pytest.raises(LockHeld):
            analyze(str(home))
        assert sorted(home.rglob("*")) == before


@pytest.mark.slow
def test_artifacts_are_there_for_people(mirror: Path, tmp_path: Path) -> None:
    from prefect.client.orchestration import get_client

    run(mirror, tmp_path / "home")
    with get_client(sync_client=True) as client:
        keys = {item.key for item in client.read_artifacts()}
        names = {item.name for item in client.read_flow_runs()}
    assert {"ranking", "reconciliation", "validation"} <= keys
    assert "backfill-all" in names
