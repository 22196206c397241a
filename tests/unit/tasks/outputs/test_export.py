"""The export: whole folders, true hashes, safe cells, metadata that agrees with the contracts."""

from __future__ import annotations

import csv
import hashlib
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from gpurank.answers.notes import Source, footnotes
from gpurank.answers.warehouse import NoData
from gpurank.declared.contracts import Contract, layer_contracts, parse_contract
from gpurank.pages.check import footnote_gaps
from gpurank.pages.export_metadata import File, Origin, croissant, data_package
from gpurank.settings import Settings, load
from tasks.build.load import create_empty
from tasks.outputs.export import ExportError, export
from tasks.outputs.export_csv import write_csv

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ORIGIN = Origin("v4.0", "https://github.com/x/training_results_v4.0", COMMIT, "a-b", "2026-01-02")
CONTRACT = """
table: marts.thing
grain: one thing
key: [name]
doc: Things.
columns:
  - {name: name, type: string, doc: its name}
  - {name: minutes, type: double, unit: min, nullable: true, doc: how long}
  - {name: parts, type: list_string, nullable: true, doc: its parts}
  - {name: made_at, type: timestamp, nullable: true, doc: when}
  - {name: is_whole, type: bool, nullable: true, doc: whether}
"""


def thing() -> Contract:
    return parse_contract(CONTRACT, "marts/thing.yml")


def a_file(form: str) -> File:
    return File(thing(), form, f"{form}/marts_thing.{form}", 10, "ab" * 32, 3)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A warehouse of empty tables and one round."""
    made = load(home=tmp_path / "home", environ={})
    made.home.mkdir()
    with duckdb.connect(str(made.warehouse_path)) as con:
        con.execute("create schema raw")
        con.execute(
            "create table raw.round_version as select 'v4.0' as round_id, "
            "timestamptz '2026-01-02 03:04:05+00' as taken_at"
        )
        con.execute("create schema lookup")
        con.execute("create table lookup.run as select 'analysis-1' as run_id, 'analysis' as kind")
        for layer in ("core", "marts"):
            create_empty(con, [contract.table for contract in layer_contracts(layer)])
        _insert_round(con)
    return made


def _insert_round(con: duckdb.DuckDBPyConnection) -> None:
    given: dict[str, Any] = {
        "round_id": "v4.0", "published_on": date(2024, 6, 12), "repository": ORIGIN.repository,
        "source_commit": COMMIT, "version_id": "a-b", "source_licence": "Apache-2.0",
        "source_licence_basis": "told",
    }  # fmt: skip
    names, values = [], []
    for row in con.execute("describe marts.round_summary").fetchall():
        names.append(f'"{row[0]}"')
        values.append(given.get(row[0], 0 if row[1] in ("BIGINT", "DOUBLE") else None))
    marks = ", ".join("?" for _ in names)
    con.execute(f"insert into marts.round_summary ({', '.join(names)}) values ({marks})", values)


def test_an_export_is_whole_described_and_repeatable(settings: Settings, tmp_path: Path) -> None:
    first, second = tmp_path / "one", tmp_path / "two"
    made = export(settings, first)
    export(settings, second)
    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert names == sorted(p.relative_to(second) for p in second.rglob("*") if p.is_file())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)
    assert made.table_count == len(layer_contracts("core")) + len(layer_contracts("marts"))
    described = json.loads((first / "croissant.json").read_text(encoding="utf-8"))
    for item in described["distribution"]:
        data = (first / item["contentUrl"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == item["sha256"]
        assert item["contentSize"] == f"{len(data)} B"
    assert described["isBasedOn"][0]["url"].endswith(COMMIT)
    read = pl.read_parquet(first / "parquet" / "marts_round_summary.parquet")
    assert read["round_id"].to_list() == ["v4.0"]
    assert not footnote_gaps((first / "README.md").read_text(encoding="utf-8"))
    assert not footnote_gaps(described["description"])
    (origin,) = json.loads((first / "origins.json").read_text(encoding="utf-8"))
    assert origin["licence"] == "Apache-2.0" and origin["licence_basis"] == "told"
    assert described["isBasedOn"][0]["license"] == "https://spdx.org/licenses/Apache-2.0"
    package = json.loads((first / "datapackage.json").read_text(encoding="utf-8"))
    assert package["sources"][0]["title"].endswith("licence Apache-2.0")
    told = (first / "README.md").read_text(encoding="utf-8")
    assert "v4.0: Apache-2.0" in told and "the run `analysis-1`" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "one", "two"]


def test_an_earlier_export_is_replaced_and_other_folders_are_not(
    settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    export(settings, folder)
    export(settings, folder, ("parquet",))
    assert not (folder / "csv").exists()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "letter.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ExportError, match="no export"):
        export(settings, theirs)
    assert [path.name for path in theirs.iterdir()] == ["letter.txt"]


def test_without_a_warehouse_or_before_its_day_nothing_is_written(
    settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match=r"v4\.0 until 2024-06-26"):
        export(settings, tmp_path / "out", today=date(2024, 6, 25))
    with pytest.raises(NoData):
        export(load(home=tmp_path / "none", environ={}), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    export(settings, tmp_path / "out", today=date(2024, 6, 26))


def test_cells_run_no_formula_and_come_back_as_they_were(tmp_path: Path) -> None:
    texts = ["=1+1", "+a", "-b", "@c", "\tx", "\rx", "plain", "a=b", 'q"uote, "', "'=x", ""]
    table = pa.table(
        {
            "name": texts,
            "minutes": pa.array([-1.5, 0.1 + 0.2, *[None] * 9], pa.float64()),
            "parts": pa.array([["-a", "é"], [], *[None] * 9], pa.list_(pa.string())),
            "made_at": pa.array(
                [datetime(2026, 1, 2, 3, 4, 5, 600, UTC), *[None] * 10], pa.timestamp("us", "UTC")
            ),
            "is_whole": pa.array([True, False, *[None] * 9], pa.bool_()),
        }
    )
    write_csv(table, thing(), tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["name"][0] for row in rows[:6]] == ["'"] * 6
    assert [row["name"].removeprefix("'") for row in rows[:6]] == texts[:6]
    assert [row["name"] for row in rows[6:]] == texts[6:]
    assert rows[0]["minutes"] == "-1.5" and float(rows[1]["minutes"]) == 0.1 + 0.2
    # R takes "true" for a text; an empty text is as missing as null.
    assert [row["is_whole"] for row in rows[:3]] == ["TRUE", "FALSE", ""]
    assert rows[2]["minutes"] == "" and rows[2]["parts"] == ""
    assert json.loads(rows[0]["parts"]) == ["-a", "é"] and json.loads(rows[1]["parts"]) == []
    assert rows[0]["made_at"] == "2026-01-02T03:04:05.000600Z"


def test_metadata_says_what_the_contract_says() -> None:
    notes = footnotes(None, [Source("v4.0", COMMIT, "2026-01-02")])
    files = [a_file("parquet"), a_file("csv")]
    made = croissant(files, [ORIGIN], notes, "1.2.3")
    (records,) = made["recordSet"]
    assert [field["name"] for field in records["field"]] == [c.name for c in thing().columns]
    kinds = [field["dataType"] for field in records["field"]]
    assert kinds == ["sc:Text", "sc:Float", "sc:Text", "sc:DateTime", "sc:Boolean"]
    assert records["field"][1]["description"] == "how long [min]"
    assert records["field"][2]["repeated"] is True
    assert {field["source"]["fileObject"]["@id"] for field in records["field"]} == {
        "parquet/marts_thing.parquet"
    }
    (resource,) = data_package(files, [ORIGIN], notes, "1.2.3")["resources"]
    assert resource["path"] == "csv/marts_thing.csv"
    assert resource["schema"]["primaryKey"] == ["name"]
    fields = resource["schema"]["fields"]
    assert [field["type"] for field in fields] == [
        "string",
        "number",
        "array",
        "datetime",
        "boolean",
    ]
    assert fields[0]["constraints"] == {"required": True} and "constraints" not in fields[1]


def test_no_name_of_ours_holds_the_mark() -> None:
    made = croissant([a_file("csv")], [ORIGIN], ["n"], "1.2.3")
    names = [made["name"], *(item["name"] for item in made["distribution"])]
    assert not [name for name in names if "mlperf" in name.lower()]
