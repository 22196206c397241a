"""The published rounds as one warehouse without the method's tables, built once a session.

The rounds are the ones in GPURANK_HOME where all are there, else those that ship.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from gpurank.declared.models import layers
from gpurank.store.versions import Store, read_manifest
from tasks.build.identity import load_identity
from tasks.build.load import Version, load_raw, new_warehouse
from tasks.build.lookups import load_lookups
from tasks.build.models import prepare_analysis, run_layer
from tasks.ingest.shipped import shipped


@pytest.fixture(scope="session")
def truth(shared: Path) -> list[dict[str, str]]:
    with (shared / "truth" / "scores.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="session")
def versions(truth: list[dict[str, str]]) -> list[Version]:
    wanted = {row["round_id"] for row in truth}
    store = Store(Path(os.environ.get("GPURANK_HOME", "data")) / "raw")
    latest = {name: store.latest(name) for name in store.rounds()}
    found = {name: store.folder(name, item.version_id) for name, item in latest.items() if item}
    if not wanted <= found.keys():
        found = shipped()
    if not wanted <= found.keys():
        pytest.skip(f"neither ingested nor shipped: {sorted(wanted - found.keys())}")
    return [Version(name, read_manifest(found[name]).version_id, found[name]) for name in wanted]


def build(path: Path, versions: list[Version], threads: int) -> None:
    with new_warehouse(path, threads) as con:
        load_raw(con, versions)
        load_lookups(con)
        load_identity(con)
        for layer in layers():
            if layer == "marts":
                prepare_analysis(con)
            run_layer(con, layer)


@pytest.fixture(scope="session")
def path(versions: list[Version], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("warehouse") / "warehouse.duckdb"
    build(path, versions, threads=2)
    return path


@pytest.fixture(scope="session")
def con(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    con = duckdb.connect(str(path), read_only=True)
    yield con
    con.close()


@pytest.fixture(scope="session")
def builder() -> Callable[[Path, list[Version], int], None]:
    """Builds a warehouse of versions with so many threads at a path."""
    return build
