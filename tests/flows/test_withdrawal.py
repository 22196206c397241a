"""A withdrawn result is in no table that is shown or given away, in any build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.as_of import build
from gpurank.answers.notes import footnotes
from gpurank.pages.check import footnote_gaps
from gpurank.settings import load
from tasks.build import lookups
from tasks.ingest.round import ingest_round
from tasks.upkeep.diff import difference

GONE = "v4.0/Zeta/zeta_n4/resnet"


def test_it_stands_in_the_quarantine_alone(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(home=tmp_path / "home", source=str(mirror), environ={})
    for name in ("v3.0", "v4.0"):
        ingest_round(name, settings)
    # Upstream corrects both results of v4.0, so that there is something to tell of each.
    for log in (mirror / "training_results_v4.0").glob("*/results/*/*/result_2.txt"):
        log.write_text(log.read_text().replace('"value": 256', '"value": 512'))
        fast = log.read_text().splitlines()
        stop = json.loads(fast[-1].removeprefix(":::MLLOG "))
        stop["time_ms"] -= 60_000
        log.write_text("\n".join([*fast[:-1], ":::MLLOG " + json.dumps(stop)]) + "\n")
    ingest_round("v4.0", settings)
    create_table = lookups.create_table
    entry = {"result_id": GONE, "withdrawn_on": "2030-01-02", "reason": "asked for"}

    def declared(con: Any, table: str, rows: Any) -> None:
        create_table(con, table, [entry] if table == "lookup.withdrawn" else rows)

    monkeypatch.setattr(lookups, "create_table", declared)
    build(settings)
    with duckdb.connect(str(settings.warehouse_path), read_only=True) as con:
        told = con.sql("select quarantine_id, reason from core.quarantine").fetchall()
        assert told == [(GONE, "withdrawn on 2030-01-02: asked for")]
        texts = con.execute(
            "select table_schema || '.' || table_name, column_name from information_schema.columns "
            "where table_schema in ('core', 'metrics', 'analysis', 'marts') "
            "and data_type in ('VARCHAR', 'VARCHAR[]')"
        ).fetchall()
        assert sum(column.endswith("result_id") for _, column in texts) > 10
        holding = {
            table
            for table, column in texts
            for (count,) in con.execute(
                f'select count(*) from {table} where contains("{column}"::varchar, ?)', [GONE]
            ).fetchall()
            if count
        }
        assert holding == {"core.quarantine", "marts.quarantine"}
        changed = con.sql("select subject_id, field_name from marts.change").fetchall()
        assert ("v4.0/Acme/acme_n1/resnet", "score_min") in changed
        told = difference("v4.0", None, None, settings)
        assert GONE not in repr(told.answer.rows) and "score_changed" in told.answer.column("kind")
        assert footnote_gaps(" ".join(footnotes(None, told.sources))) == ()
        ranked = con.sql("select result_id from marts.ranking where round_id = 'v4.0'").fetchall()
        assert ranked and set(ranked) == {("v4.0/Acme/acme_n1/resnet",)}
