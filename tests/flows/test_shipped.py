"""Shipped facts: built from a full ingest, adopted into an empty store, same numbers."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

import gpurank
from flows.as_of import build
from gpurank.answers import explain
from gpurank.operations import health
from gpurank.settings import Settings, load
from gpurank.store import rounds_lock as roundlock
from gpurank.store.versions import Store, StoreError, read_manifest
from tasks.ingest import shipped
from tasks.ingest.round import ingest_round

_RESULTS = "select * exclude (version_id, run_id) from marts.result order by result_id"
_RESULT = "v3.0/Zeta/zeta_n4/resnet"


@pytest.fixture
def full(mirror: Path, tmp_path: Path) -> Settings:
    settings = load(home=tmp_path / "full", source=str(mirror), environ={})
    for name in ("v3.0", "v4.0"):
        ingest_round(name, settings)
    return settings


def test_facts_hold_what_runs_point_at_and_give_the_same_results(
    full: Settings, tmp_path: Path
) -> None:
    warehouse = tmp_path / "warehouse"
    made = shipped.build(["v3.0", "v4.0"], Store(full.raw_dir), warehouse)
    latest = Store(full.raw_dir).latest("v3.0")
    assert latest is not None
    facts = warehouse / "facts" / "v3.0" / made[0].version_id
    assert made[0].content_hash == latest.content_hash
    assert made[0].version_id != latest.version_id
    assert "mirror" not in made[0].source_uri
    events = pq.read_table(facts / "event.parquet").to_pydict()
    # Ten logs; of each the start, the deciding evaluation and the stop, in the file's order.
    assert events["key"] == ["run_start", "eval_accuracy", "run_stop"] * 10
    assert set(roundlock.read(warehouse / "rounds.lock.yml")) == {"v3.0", "v4.0"}

    adopted = load(home=tmp_path / "adopted", environ={})
    for name in ("v3.0", "v4.0"):
        found = shipped.adopt(name, adopted, warehouse / "facts")
        assert found.state == "adopted"
    assert shipped.adopt("v3.0", adopted, warehouse / "facts").state == "unchanged"
    build(full)
    build(adopted)
    rows = []
    for settings in (full, adopted):
        with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
            rows.append(con.execute(_RESULTS).fetchall())
    assert len(rows[0]) == 4 and rows[0] == rows[1]


def test_an_ingested_round_is_not_replaced_by_its_facts(full: Settings, tmp_path: Path) -> None:
    shipped.build(["v3.0"], Store(full.raw_dir), tmp_path / "warehouse")
    before = Store(full.raw_dir).latest("v3.0")
    assert shipped.adopt("v3.0", full, tmp_path / "warehouse" / "facts").state == "unchanged"
    assert Store(full.raw_dir).latest("v3.0") == before


def test_facts_are_replaced_by_a_full_ingest(full: Settings, mirror: Path, tmp_path: Path) -> None:
    shipped.build(["v3.0"], Store(full.raw_dir), tmp_path / "warehouse")
    settings = load(home=tmp_path / "other", source=str(mirror), environ={})
    shipped.adopt("v3.0", settings, tmp_path / "warehouse" / "facts")
    assert ingest_round("v3.0", settings).state == "ingested"
    latest = Store(settings.raw_dir).latest("v3.0")
    assert latest is not None and latest.form == "full"


def test_damaged_or_missing_facts_are_told(full: Settings, tmp_path: Path) -> None:
    shipped.build(["v3.0"], Store(full.raw_dir), tmp_path / "warehouse")
    facts = tmp_path / "warehouse" / "facts"
    settings = load(home=tmp_path / "other", environ={})
    with pytest.raises(StoreError, match=r"v9\.9 does not ship.*v3\.0"):
        shipped.adopt("v9.9", settings, facts)
    folder = shipped.shipped(facts)["v3.0"]
    assert read_manifest(folder).form == "facts"
    (folder / "run.parquet").write_bytes(b"half")
    with pytest.raises(StoreError, match="damaged"):
        shipped.adopt("v3.0", settings, facts)
    assert Store(settings.raw_dir).rounds() == ()


def test_the_python_interface_answers_with_frames(full: Settings) -> None:
    build(full)
    home = full.home
    ranked = gpurank.rank("resnet", "v3.0", home=home)
    assert ranked["result_id"].to_list() == [_RESULT, "v3.0/Acme/acme_n1/resnet"]
    assert ranked["delay_cost"].to_list() == pytest.approx([400.0, 512.0])
    assert gpurank.rank("resnet", home=home)["round_id"].unique().to_list() == ["v4.0"]
    assert gpurank.rank("resnet", pooled=True, limit=3, home=home).height == 3
    held = gpurank.rounds(home)
    assert held["round_id"].to_list() == ["v3.0", "v4.0"]
    assert held["scored_count"].to_list() == [2, 2]
    assert gpurank.table("marts.result", home).height == 4
    assert gpurank.why(_RESULT, home).result["accelerator_count"] == 32
    with gpurank.connect(home) as con:
        assert con.execute("select count(*) from marts.run").fetchall() == [(20,)]
    with pytest.raises(gpurank.NoData, match=r"did you mean marts\.result"):
        gpurank.table("marts.results", home)
    with pytest.raises(gpurank.NoData, match="did you mean resnet"):
        gpurank.rank("resnet50", home=home)
    with pytest.raises(gpurank.NoData, match=r"ranked in v9\.9; it is in v3\.0, v4\.0"):
        gpurank.rank("resnet", "v9.9", home=home)
    with pytest.raises(gpurank.NoData, match="did you mean v3"):
        gpurank.why("v3.0/Zeta/zeta_n5/resnet", home)


def test_health_sees_damage(full: Settings) -> None:
    build(full)
    assert "bad" not in health.examine(full).column("state")
    held = health.rounds(full)
    rows = [row for row in held.dicts() if row["state"] == "held"]
    assert [(row["results"], row["is_in_warehouse"]) for row in rows] == [(2, True), (2, True)]
    latest = Store(full.raw_dir).latest("v3.0")
    assert latest is not None
    (full.raw_dir / "v3.0" / latest.version_id / "run.parquet").write_bytes(b"half")
    found = health.examine(full)
    (bad,) = (row for row in found.rows if row[1] == "bad")
    assert bad[0] == "v3.0" and "other bytes" in bad[2]


def test_a_number_is_walked_back_to_its_lines(full: Settings) -> None:
    build(full)
    with duckdb.connect(str(full.warehouse_path), read_only=True) as con:
        found = explain.explain(con, _RESULT)
        assert explain.result_at_rank(con, "resnet", "v3.0", 1) == _RESULT
        told = "\n".join(explain.text(found))
    runs = [dict(zip(found.runs.columns, row, strict=True)) for row in found.runs.rows]
    assert [run["run_min"] for run in runs] == [8.0, 9.0, 10.0, 11.0, 12.0]
    assert [run["is_kept"] for run in runs] == [False, True, True, True, False]
    # As written: the start is the log's fourth line, the stop its sixth.
    assert {(run["start_line"], run["stop_line"]) for run in runs} == {(4, 6)}
    assert [run["file"].rpartition("_")[2] for run in runs] == [f"{n}.txt" for n in range(5)]
    assert found.result["score_min"] == pytest.approx(10.0)
    assert "mean of 3 of 5 runs" in told
    assert "400.000 = 10.0000 min x (32 + 8)" in told
    assert "Zeta/results/zeta_n4/resnet/result_1.txt:4 to :6" in told
