"""Watching real remotes: a round appears, is corrected, loses a result, and falls silent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gpurank.operations import watch_record as watching
from gpurank.store.versions import Store

pytestmark = pytest.mark.flow


@pytest.fixture(autouse=True)
def _served(orchestrator: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from tasks.upkeep import watch

    monkeypatch.setattr(watch, "RETRY_AFTER_S", (0.0, 0.0))
    yield


def run(source: str, home: Path, **options: Any) -> dict[str, Any]:
    from flows.watch import watch

    found: dict[str, Any] = watch(source, str(home), **options)
    return found


def ask(home: Path, sql: str) -> list[Any]:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


def test_a_round_appears_is_corrected_and_falls_silent(remotes: Any, tmp_path: Path) -> None:
    from flows.errors import WatchIncomplete

    home, source = tmp_path / "home", remotes.template
    remotes.add("v5.0")
    first = run(source, home)
    assert (first["state"], first["moved"], first["is_analyzed"]) == ("changed", ["v5.0"], True)
    stamp = (home / "warehouse.duckdb").stat().st_mtime_ns

    again = run(source, home)
    assert (again["state"], again["moved"], again["is_analyzed"]) == ("unchanged", [], False)
    assert (home / "warehouse.duckdb").stat().st_mtime_ns == stamp

    # A wholly new round that nobody declared: a usable table by rule, each fall-back an issue.
    remotes.add("v7.0", shift_min=1.0)
    remotes.add("v6.2", shift_min=2.0)
    new = run(source, home)
    assert new["moved"] == ["v6.2", "v7.0"]
    ranked = ask(
        home,
        "select submitter, rank, score_min from marts.ranking "
        "where round_id = 'v7.0' and scope = 'round' order by rank",
    )
    assert ranked == [("Zeta", 1, pytest.approx(11.0)), ("Acme", 2, pytest.approx(33.0))]
    assert ask(home, "select count(*) from marts.issue where round_id = 'v7.0'") > [(0,)]

    remotes.edit_system("v7.0", "Acme", host_processor_model_name="AMD EPYC 9654")
    commit = remotes.publish("v7.0")
    fixed = run(source, home)
    assert fixed["moved"] == ["v7.0"]
    assert len(Store(home / "raw").versions("v7.0")) == 2
    sql = (
        "select source_commit, host_cpu from marts.result "
        "where round_id = 'v7.0' and submitter = 'Acme'"
    )
    ((held, cpu),) = ask(home, sql)
    assert held == commit and "9654" in cpu
    # Exactly one change: the field that was edited.
    sql = (
        "select round_id, kind, subject_id, field_name, old_value, new_value, new_commit, "
        "changed_at is not null from marts.change"
    )
    field = ("host_processor_model_name", "AMD EPYC 7742", "AMD EPYC 9654")
    path = "Acme/systems/acme_n1.json"
    assert ask(home, sql) == [("v7.0", "system_edited", path, *field, commit, True)]

    # A known round that does not answer is told, and what is known of it stays.
    remotes.take_away("v6.2")
    remotes.add("v7.1")
    with pytest.raises(WatchIncomplete, match=r"v6\.2"):
        run(source, home)
    assert ask(home, "select count(*) from marts.result where round_id in ('v6.2', 'v7.1')") == [
        (4,)
    ]
    record = watching.read(home / "watch.json")
    assert record is not None and not record.is_complete
    assert (record.unanswered, tuple(record.ingested)) == (("v6.2",), ("v7.1",))


@pytest.mark.slow
def test_a_result_that_is_gone_upstream_is_withdrawn_and_its_version_stays(
    remotes: Any, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    remotes.add("v6.2", date="2031-05-01T00:00:00+00:00")
    remotes.add("v6.1")
    run(remotes.template, home)
    old = Store(home / "raw").latest("v6.2")
    shutil.rmtree(remotes.checkout("v6.2") / "Zeta" / "results")
    remotes.publish("v6.2", date="2031-05-06T07:08:09+00:00")
    run(remotes.template, home)
    sql = "select kind, subject_id, changed_at from marts.change order by kind"
    moved, gone = ask(home, sql)
    assert moved[:2] == ("rank_moved", "v6.2/Acme/acme_n1/resnet")
    assert gone[:2] == ("result_withdrawn", "v6.2/Zeta/zeta_n4/resnet")
    assert gone[2].isoformat() == "2031-05-06T07:08:09"
    assert ask(home, "select submitter from marts.result where round_id = 'v6.2'") == [("Acme",)]
    assert old is not None and Store(home / "raw").has("v6.2", old.version_id)


@pytest.mark.slow
def test_the_past_answers_with_what_was_known_then(
    remotes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from flows.analyze import analyze
    from flows.as_of import warehouse_at
    from gpurank.answers.warehouse import NoData
    from gpurank.settings import load
    from gpurank.store.history import moment
    from tasks.upkeep.diff import difference

    home, settings = tmp_path / "home", load(home=tmp_path / "home", environ={})
    remotes.add("v5.1", date="2031-01-01T00:00:00+00:00")
    run(remotes.template, home)
    logs = remotes.checkout("v5.1") / "Zeta" / "results" / "zeta_n4" / "resnet"
    (logs / "scaling.json").write_text('{"scaling_factor": 1.5}')
    remotes.publish("v5.1", date="2031-02-01T00:00:00+00:00")
    run(remotes.template, home)

    # T x (N + 8): Zeta 10 x 1.5 x 40 = 600 falls behind Acme's 32 x 16 = 512.
    found = {tuple(row[1:6]) for row in difference("v5.1", None, None, settings).answer.rows}
    zeta, acme = "v5.1/Zeta/zeta_n4/resnet", "v5.1/Acme/acme_n1/resnet"
    assert found == {
        ("score_changed", zeta, "resnet", "score_min", "10.0"),
        ("rank_moved", zeta, "resnet", "rank", "1"),
        ("rank_moved", acme, "resnet", "rank", "2"),
    }

    def first(path: Path) -> Any:
        with duckdb.connect(str(path), read_only=True) as con:
            sql = "select submitter from marts.ranking where scope = 'round' and rank = 1"
            return con.execute(sql).fetchall()

    assert first(home / "warehouse.duckdb") == [("Acme",)]
    target = tmp_path / "other.duckdb"
    analyze(str(home), as_of="2031-01-15", output=str(target))
    assert (first(target), first(home / "warehouse.duckdb")) == ([("Zeta",)], [("Acme",)])
    kept = warehouse_at(settings, moment("2031-01-31"))
    assert first(kept) == [("Zeta",)] and kept == warehouse_at(settings, moment("2031-01-02"))
    assert warehouse_at(settings, moment("2031-02-01")) == home / "warehouse.duckdb"
    with pytest.raises(NoData, match="nothing was known"):
        warehouse_at(replace(settings), moment("2030-12-31"))


@pytest.mark.slow
def test_a_mirror_is_listed_and_a_failed_analysis_is_made_up_for(
    mirror: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = run(str(mirror), home)
    assert first["moved"] == ["v3.0", "v4.0"]
    (home / "warehouse.duckdb").unlink()
    again = run(str(mirror), home)
    assert (again["moved"], again["is_analyzed"]) == ([], True)
    shutil.rmtree(mirror / "training_results_v3.0")
    found = {item["round_id"]: item["state"] for item in run(str(mirror), home)["findings"]}
    assert found == {"v3.0": "absent", "v4.0": "unchanged"}
    assert ask(home, "select count(*) from marts.result") == [(4,)]


def test_a_watch_tells_by_artifact_and_event(remotes: Any, tmp_path: Path) -> None:
    import time

    from prefect.client.orchestration import get_client

    remotes.add("v5.0")
    run(remotes.template, tmp_path / "home")
    wanted = {"filter": {"event": {"name": ["gpurank.watch.changed"]}}, "limit": 50}
    with get_client(sync_client=True) as client:
        found = [item for item in client.read_artifacts() if item.key == "watch"]
        for _ in range(40):  # events are written in batches
            events = client._client.post("/events/filter", json=wanted).json()["events"]
            ours = [e for e in events if str(tmp_path) in e["resource"]["prefect.resource.name"]]
            if ours:
                break
            time.sleep(0.5)
    assert any("v5.0 | new" in str(item.data) for item in found)
    assert ours[0]["payload"]["moved"] == ["v5.0"]
    assert ours[0]["resource"]["prefect.resource.id"] == "gpurank.data-folder"


@pytest.mark.slow
def test_a_missed_slot_is_caught_up_once(
    remotes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime, timedelta

    from flows import watch as watch_module

    class Slot:
        tags = ("auto-scheduled",)
        scheduled_start_time = datetime.now(UTC) - timedelta(days=7)

    remotes.add("v5.0")
    monkeypatch.setattr(watch_module, "flow_run", Slot)
    first = run(remotes.template, tmp_path / "home")
    assert first["state"] == "changed"
    # Two more slots were missed before the first of them ran.
    assert run(remotes.template, tmp_path / "home") == {"state": "superseded"}
    Slot.scheduled_start_time = datetime.now(UTC) + timedelta(seconds=5)
    assert run(remotes.template, tmp_path / "home")["state"] == "unchanged"
