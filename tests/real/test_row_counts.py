"""The shipped rounds give the rows that expectations/row_counts.csv declares."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import duckdb
import pytest

from flows.as_of import build
from gpurank.settings import load
from tasks.ingest import shipped
from tools.row_counts import count_rows

pytestmark = pytest.mark.slow


def read_declared_counts() -> dict[tuple[str, str], int]:
    text = files("expectations").joinpath("row_counts.csv").read_text(encoding="utf-8")
    return {
        (row["round_id"], row["table"]): int(row["rows"])
        for row in csv.DictReader(text.splitlines())
    }


def test_every_table_of_the_shipped_rounds_has_the_declared_rows(tmp_path: Path) -> None:
    rounds = shipped.shipped()
    if not rounds:
        pytest.skip("no facts ship with this checkout")
    # No row depends on the bootstraps.
    settings = load(home=tmp_path, bootstraps=0, environ={})
    for round_id in rounds:
        shipped.adopt(round_id, settings)
    build(settings)
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        counts = count_rows(con)
    declared = read_declared_counts()
    differing = {
        key: (counts.get(key, 0), declared.get(key, 0))
        for key in sorted({*counts, *declared})
        if counts.get(key, 0) != declared.get(key, 0)
    }
    assert not differing, (
        f"(rows, declared rows) of {differing}; if the data changed on purpose: make row-counts"
    )


def test_the_counts_agree_with_each_other() -> None:
    """Folders seen are results and quarantined ones; every run of core is shown."""
    declared = read_declared_counts()
    for round_id in {round_id for round_id, _ in declared} - {"all"}:
        folders = declared[round_id, "raw.folder"]
        quarantined = declared.get((round_id, "marts.quarantine"), 0)
        assert folders == declared[round_id, "core.result"] + quarantined, round_id
        assert declared[round_id, "core.run"] == declared[round_id, "marts.run"]
        assert declared[round_id, "marts.result"] == declared[round_id, "core.result"]
