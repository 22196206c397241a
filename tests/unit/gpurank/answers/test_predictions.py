"""predict: rows of marts.prediction as they stand, and one clear answer where there are none."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import gpurank


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as con:
        con.execute(
            "create schema marts;"
            "create table marts.result as select 'bert' as benchmark, 'bert' as benchmark_folder "
            "union all select 'ssd', 'ssd';"
            "create table marts.fleet_law as select * from (values ('bert', null), "
            "('ssd', '3 rows, 30 needed')) as _(benchmark, reason);"
            "create table marts.prediction as select 'bert' as benchmark, * from (values "
            "('A1', 16, 5.5), ('A1', 8, 10.0), ('B2', 8, 7.0), ('A1', 64, 2.0)) "
            "as _(accelerator, accelerator_count, score_min)"
        )
    return tmp_path


def test_every_count_or_one(home: Path) -> None:
    found = gpurank.predict("bert", "A1", home=home)
    assert found["accelerator_count"].to_list() == [8, 16, 64]
    assert gpurank.predict("bert", "A1", 16, home)["score_min"].to_list() == [5.5]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("bret", "A1", None), "did you mean bert"),
        (("ssd", "A1", None), "ssd has no fleet law: 3 rows, 30 needed"),
        (("bert", "A11", None), "did you mean A1"),
        (("bert", "A1", 20), "the nearest counts are 8 and 16"),
        (("bert", "A1", 400), "the nearest counts are 16 and 64"),
    ],
)
def test_what_is_not_predicted_is_told(
    home: Path, asked: tuple[str, str, int | None], told: str
) -> None:
    with pytest.raises(gpurank.NoData, match=told):
        gpurank.predict(*asked, home=home)
