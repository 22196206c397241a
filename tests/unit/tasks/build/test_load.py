"""Loading a warehouse and running models in it: refusals, types, comments."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpurank.declared.contracts import contract, contracts
from gpurank.declared.models import Model
from gpurank.store.versions import Manifest
from tasks.build import models as model_task
from tasks.build.load import LoadError, Version, load_raw, new_warehouse
from tasks.build.models import ModelRunError, run_model


@pytest.fixture
def version(tmp_path: Path) -> Version:
    """A version of a round without any file in it."""
    folder = tmp_path / "v4.0"
    folder.mkdir()
    for declared in contracts():
        if declared.layer == "raw":
            name = declared.table.partition(".")[2]
            pq.write_table(declared.arrow_schema().empty_table(), folder / f"{name}.parquet")
    manifest = Manifest(
        "v4.0", "a", "complete", "full", "tree", "here", None, "f", "c", "d",
        "2026-01-01T00:00:00+00:00", 0, 0,
    )  # fmt: skip
    (folder / "manifest.json").write_text(manifest.to_json())
    return Version("v4.0", "a", folder)


def test_rounds_stand_side_by_side_each_under_its_version(version: Version, tmp_path: Path) -> None:
    row = {"path": ["p"], "folder_id": ["f"], "scaling_factor": [1.1]}
    table = pa.table(row, schema=contract("raw.scaling").arrow_schema())
    pq.write_table(table, version.path / "scaling.parquet")
    newer = Version("v10.0", "b", version.path)
    with new_warehouse(tmp_path / "w.duckdb") as con:
        load_raw(con, [newer, version])
        found = con.execute("SELECT round_id, version_id, path FROM raw.scaling").fetchall()
        assert found == [("v4.0", "a", "p"), ("v10.0", "b", "p")]
        assert len(con.execute("FROM raw.round_version").fetchall()) == 2


def test_a_warehouse_is_never_built_over_another(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    path.touch()
    with pytest.raises(LoadError, match="exists"), new_warehouse(path):
        pass


def test_no_round_and_a_lost_or_foreign_file_are_refused_by_name(
    version: Version, tmp_path: Path
) -> None:
    with new_warehouse(tmp_path / "w.duckdb") as con:
        with pytest.raises(LoadError, match="no round"):
            load_raw(con, [])
        pq.write_table(pa.table({"other": [1]}), version.path / "power.parquet")
        with pytest.raises(LoadError, match=r"power\.parquet does not fit raw\.power"):
            load_raw(con, [version])
        (version.path / "power.parquet").unlink()
        with pytest.raises(LoadError, match=r"power\.parquet does not fit raw\.power"):
            load_raw(con, [version])


def test_the_file_is_readable_by_older_clients(tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    with new_warehouse(path) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS w (READ_ONLY)")
        tags = con.execute("SELECT tags FROM duckdb_databases() WHERE database_name = 'w'")
        (found,) = tags.fetchone() or (None,)
    assert str(found["storage_version"]).startswith("v1.5.0")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> duckdb.DuckDBPyConnection:
    """A connection; models are held against the contract of analysis.unranked."""
    monkeypatch.setattr(model_task, "contract", lambda table: contract("analysis.unranked"))
    con = duckdb.connect()
    con.execute("CREATE SCHEMA analysis")
    return con


def unranked(sql: str) -> Model:
    return Model("analysis.unranked", "analysis", 50, sql, frozenset())


def test_a_model_is_sorted_by_its_key_and_documented(small: duckdb.DuckDBPyConnection) -> None:
    sql = """
        SELECT unnest(['b', 'a']) AS result_id, 'r' AS round_id, 'x' AS benchmark, 'y' AS reason
    """
    assert run_model(small, unranked(sql)) == 2
    rows = small.execute("SELECT result_id FROM analysis.unranked").fetchall()
    assert rows == [("a",), ("b",)]
    comment = small.execute("SELECT comment FROM duckdb_tables()").fetchone()
    assert comment == (contract("analysis.unranked").doc,)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("'a' AS result_id, 'r' AS round_id, 'x' AS benchmark", "lacks reason"),
        (
            "'a' AS result_id, 'r' AS round_id, 'x' AS benchmark, 'y' AS reason, 1 AS more",
            "has more, not in its contract",
        ),
        (
            "'a' AS result_id, 'r' AS round_id, 'x' AS benchmark, 1.5::DOUBLE AS reason",
            "reason is DOUBLE, declared VARCHAR",
        ),
        ("nothing AS result_id", "analysis.unranked: .*nothing"),
    ],
)
def test_a_model_that_is_not_its_contract_is_refused(
    small: duckdb.DuckDBPyConnection, columns: str, message: str
) -> None:
    with pytest.raises(ModelRunError, match=message):
        run_model(small, unranked(f"SELECT {columns}"))
