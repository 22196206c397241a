"""From any row of any table, one join gives the run that made it; the same input, the same rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.as_of import build
from gpurank.settings import Settings, load
from gpurank.store.versions import Store
from tasks.ingest.round import ingest_round

pytestmark = pytest.mark.slow


def made(home: Path, mirror: Path) -> Settings:
    """A warehouse of two rounds, each read by a run of its own, and analyzed by a third."""
    settings = load(home=home, source=str(mirror), environ={})
    for round_id, run in (("v3.0", "first"), ("v4.0", "second")):
        ingest_round(round_id, replace(settings, run_id=run))
    settings = replace(settings, run_id="third")
    build(settings)
    return settings


def tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    found = con.execute(
        "select table_schema || '.' || table_name from information_schema.tables "
        "where table_type = 'BASE TABLE' order by 1"
    ).fetchall()
    return [name for (name,) in found]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, invented_round: Callable[..., Path]) -> Path:
    folder = tmp_path_factory.mktemp("mirror")
    invented_round(folder, "v3.0")
    invented_round(folder, "v4.0", shift_min=1.0)
    return folder


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Settings:
    return made(tmp_path_factory.mktemp("home"), source)


def test_every_row_of_every_table_names_its_run(settings: Settings) -> None:
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        names = tables(con)
        layers = {name.partition(".")[0] for name in names}
        assert layers == {
            "raw", "lookup", "identity", "staging", "core", "metrics", "analysis", "marts",
        }  # fmt: skip
        for name in names:
            rows = con.execute(f"select count(*) from {name}").fetchone()
            known = con.execute(f"select count(*) from {name} join lookup.run using (run_id)")
            assert known.fetchone() == rows, name
            if name == "lookup.run":
                continue
            kinds = con.execute(
                f"select distinct run.kind from {name} join lookup.run as run using (run_id)"
            ).fetchall()
            expected = "ingest" if name.startswith("raw.") else "analysis"
            assert {kind for (kind,) in kinds} <= {expected}, name
            assert con.execute(
                "select comment from duckdb_columns() where column_name = 'run_id' "
                "and schema_name || '.' || table_name = ?", [name]
            ).fetchone() == ("the run that made the row; lookup.run says of what, and its id in "
                             "the logs",), name  # fmt: skip


def test_the_runs_are_those_of_the_logs(settings: Settings) -> None:
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        rows = con.execute("select round_id, run_id, count(*) from raw.run group by all").fetchall()
        assert sorted(rows) == [("v3.0", "first", 10), ("v4.0", "second", 10)]
        logged = con.execute(
            "select distinct logged_run_id, version_ids from marts.ranking "
            "join lookup.run using (run_id)"
        ).fetchall()
    store = Store(settings.raw_dir)
    versions = [
        f"{name} {item.version_id}" for name in ("v3.0", "v4.0") if (item := store.latest(name))
    ]
    assert logged == [("third", versions)]


def marts(settings: Settings) -> dict[str, list[Any]]:
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        names = [name for name in tables(con) if name.startswith("marts.")]
        return {name: con.execute(f"from {name}").fetchall() for name in names}


def test_another_folder_with_the_same_input_has_the_same_rows_and_run(
    settings: Settings, source: Path, tmp_path: Path
) -> None:
    assert marts(settings) == marts(made(tmp_path / "other", source))


def test_other_settings_are_another_run_and_an_old_version_stands_for_its_own(
    settings: Settings, tmp_path: Path
) -> None:
    item = Store(settings.raw_dir).latest("v3.0")
    assert item is not None
    home = tmp_path / "home"
    shutil.copytree(settings.home, home)
    # As versions were before runs were recorded.
    folder = home / "raw" / "v3.0" / item.version_id
    (folder / "manifest.json").write_text(replace(item, run_id=None).to_json())
    changed = replace(settings, home=home, lambda_chips=16.0, run_id="fourth")
    build(changed)
    assert marts(settings)["marts.result"][0][-1] != marts(changed)["marts.result"][0][-1]
    with duckdb.connect(str(changed.warehouse_path), read_only=True) as con:
        found = con.execute(
            "select distinct run_id, kind, logged_run_id from raw.run "
            "join lookup.run using (run_id) where round_id = 'v3.0'"
        ).fetchall()
    assert found == [(f"unrecorded-{item.version_id}", "ingest", None)]
