"""Questions to a published warehouse that have no answer, and the doors of the interface."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from cases.miniature import Mini, build, log, rank

import gpurank
from gpurank.answers import warehouse as reading
from gpurank.answers.own_runs import OwnRunsError
from gpurank.answers.warehouse import NoData


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a warehouse of two rounds; bert is scored in neither."""
    folder = tmp_path_factory.mktemp("home")
    three, four = Mini(), Mini(1_700_000_000_000)
    three.result("A/box/resnet", (30.0, 31.0, 32.0, 33.0, 90.0), {})
    four.result("B/box/resnet", (20.0,) * 5, {})
    four.result("B/box/bert", (20.0,) * 10, status="aborted")
    made = build(folder / "made", {"v3.0": three, "v4.0": four})
    rank(made)
    made.con.execute(f"attach '{folder / 'warehouse.duckdb'}' as kept")
    made.con.execute("copy from database memory to kept")
    made.con.execute("detach kept")
    made.con.close()
    shutil.rmtree(folder / "made")
    return folder


def warehouse(home: Path) -> duckdb.DuckDBPyConnection:
    return reading.open_warehouse(home / "warehouse.duckdb")


def test_a_ranking_that_is_not_there_says_what_is(home: Path) -> None:
    with warehouse(home) as con:
        with pytest.raises(NoData, match=r"ranked in v9\.9; it is in v3\.0, v4\.0"):
            reading.ranking(con, "resnet", "v9.9")
        with pytest.raises(NoData, match="bert is ranked in no round"):
            reading.ranking(con, "bert", None)
        with pytest.raises(NoData, match="nothing of bert is ranked over all rounds"):
            reading.ranking(con, "bert", None, pooled=True)
        newest = reading.ranking(con, "resnet", None)
        assert newest.column("round_id") == ["v4.0"]
        assert reading.ranking(con, "resnet", "v3.0", limit=1).column("score_min") == [32.0]
        assert len(reading.ranking(con, "resnet", None, pooled=True).rows) == 2


def test_clusters_and_predictions_that_there_are_none_say_why(home: Path) -> None:
    with warehouse(home) as con:
        with pytest.raises(NoData, match="resnet has no clusters: 2 rows, 30 needed"):
            reading.clusters(con, "resnet")
        with pytest.raises(NoData, match="bert has no clusters"):
            reading.clusters(con, "bert")
        with pytest.raises(NoData, match="resnet has no fleet law: 2 rows, 30 needed"):
            reading.predictions(con, "resnet", "A100 SXM4 80GB")
        assert reading.cluster_rounds(con, "resnet") == []


def test_the_doors(home: Path) -> None:
    assert gpurank.rounds(home)["round_id"].to_list() == ["v3.0", "v4.0"]
    with gpurank.connect(home) as con:
        assert con.sql("select count(*) from marts.result").fetchall() == [(3,)]
    assert gpurank.table("marts.result", home).height == 3
    with pytest.raises(NoData, match=r"'marts\.results'; did you mean"):
        gpurank.table("marts.results", home)
    for name in ("marts.result; drop table marts.result", "duckdb_settings()", "'/etc/passwd'"):
        with pytest.raises(NoData, match="no table is called"):
            gpurank.table(name, home)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gpurank.nothing
    assert set(gpurank.__all__) <= set(dir(gpurank))
    assert all(getattr(gpurank, name) is not None for name in gpurank.__all__)


def test_choosing_from_a_folder(home: Path) -> None:
    found = gpurank.choose("resnet", within="25min", home=home)
    best = found.choice.recommended
    assert best is not None and best.candidate.result_id == "v4.0/B/box/resnet"
    assert best.cost == pytest.approx(160)


def test_own_runs_beside_a_folder(home: Path, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"result_{number}.txt").write_bytes(log(26.0, 10**12 + number * 10**8))
    found = gpurank.mine(tmp_path, 8, "A100 SXM4 80GB", home=home)
    assert (found.result.round_id, found.result.score_min) == ("v4.0", pytest.approx(26))
    assert (found.would_rank, found.list_count) == (2, 1)
    older = gpurank.mine(tmp_path, 8, "A100 SXM4 80GB", round_id="v3.0", home=home)
    assert older.would_rank == 1
    with pytest.raises(OwnRunsError, match="1 accelerator or more, not 0"):
        gpurank.mine(tmp_path, 0, "A100 SXM4 80GB", home=home)
    with pytest.raises(NoData):
        gpurank.mine(tmp_path, 8, "A100 SXM4 80GB", round_id="v2.0", home=home)


@pytest.mark.parametrize(
    ("round_id", "advice"),
    [
        ("4.0", "did you mean v4.0? it is in v3.0, v4.0"),
        ("v40", "did you mean v4.0? it is in v3.0, v4.0"),
        ("v6.0", "it is in v3.0, v4.0"),
    ],
)
def test_a_misspelt_round_is_recognised(round_id: str, advice: str) -> None:
    assert reading.nearest_round(round_id, ["v4.0", "v3.0"]) == advice
