"""A withdrawn result is in no table that is shown or given away, in any build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from gpurank.settings import load
from tasks import assemble, lookups, publish
from tasks.ingest import ingest_round
from tasks.load import new_warehouse

GONE = "v4.0/Zeta/zeta_n4/resnet"


def test_it_stands_in_the_quarantine_alone(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    for name in ("v3.0", "v4.0"):
        ingest_round(name, settings)
    insert = lookups.insert_rows
    entry = {"result_id": GONE, "withdrawn_on": "2030-01-02", "reason": "asked for"}

    def declared(con: Any, table: str, columns: str, rows: Any) -> None:
        insert(con, table, columns, [entry] if table == "lookup.withdrawn" else rows)

    monkeypatch.setattr(lookups, "insert_rows", declared)
    with publish.building(settings) as path:
        with new_warehouse(path) as con:
            for step in assemble.steps():
                step.run(con, settings)
        publish.swap(path, settings)
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        told = con.sql("select quarantine_id, reason from core.quarantine").fetchall()
        assert told == [(GONE, "withdrawn on 2030-01-02: asked for")]
        holding = con.execute(
            "select table_schema || '.' || table_name, column_name from information_schema.columns "
            "where table_schema in ('core', 'metrics', 'analysis', 'marts') "
            "and column_name like '%result_id'"
        ).fetchall()
        assert len(holding) > 10
        for table, column in holding:
            sql = f"select count(*) from {table} where {column} = ?"
            assert con.execute(sql, [GONE]).fetchall() == [(0,)], f"{table}.{column}"
        ranked = con.sql("select result_id from marts.ranking where round_id = 'v4.0'").fetchall()
        assert ranked and set(ranked) == {("v4.0/Acme/acme_n1/resnet",)}
