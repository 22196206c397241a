"""The export of the shipped rounds: validated by both formats' tools, loaded by four others.

Each line is taken from the export's README as it is printed, and run for every table.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpurank.settings import load
from tasks.outputs.export import export

pytestmark = [pytest.mark.flow, pytest.mark.slow]

READ_BY_R = Path(__file__).resolve().parents[1] / "tools" / "load_export.R"
_LINE = re.compile(r"^(?:pandas|polars|duckdb|read)\.[^`\n]+$", re.MULTILINE)


@pytest.fixture(scope="module")
def exported(shipped_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "open-data"
    export(load(home=str(shipped_home), environ={}), folder)
    return folder


def lines(folder: Path) -> list[str]:
    return _LINE.findall((folder / "README.md").read_text(encoding="utf-8"))


def tables(folder: Path) -> dict[str, pa.Table]:
    return {path.stem: pq.read_table(path) for path in sorted((folder / "parquet").iterdir())}


def test_python_tools_load_every_table_with_the_printed_line(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(exported)
    known: dict[str, Any] = {"pandas": pandas, "polars": polars, "duckdb": duckdb}
    sizes: dict[str, Callable[[Any], tuple[int, list[str]]]] = {
        "pandas": lambda frame: (len(frame), list(frame.columns)),
        "polars": lambda frame: (frame.height, frame.columns),
        "duckdb": lambda found: (len(found), found.columns),
    }
    printed = [line for line in lines(exported) if line.split(".")[0] in known]
    assert len(printed) == 6
    for name, table in tables(exported).items():
        for line in printed:
            found = eval(line.replace("marts_ranking", name), known)
            expected = (table.num_rows, table.column_names)
            assert sizes[line.split(".")[0]](found) == expected, (name, line)


def test_a_filed_na_is_a_text_and_no_missing_value(exported: Path) -> None:
    """Some systems were filed with the accelerator ``NA``."""
    filed = pq.read_table(exported / "parquet" / "core_system.parquet")["accelerator_reported"]
    assert "NA" in filed.to_pylist()
    path = str(exported / "csv" / "core_system.csv")
    read = pandas.read_csv(path, keep_default_na=False, na_values=[""])["accelerator_reported"]
    assert read.isna().sum() == filed.null_count
    with duckdb.connect() as con:
        sql = "select count(accelerator_reported) from read_csv(?, sample_size=-1)"
        assert con.execute(sql, [path]).fetchall() == [(len(filed) - filed.null_count,)]


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_r_reads_every_cell_as_parquet_holds_it(
    exported: Path, tmp_path: Path, locale: str
) -> None:
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("no Rscript on this machine (Debian: r-base-core)")
    (line,) = [line for line in lines(exported) if line.startswith("read.csv(")]
    subprocess.run(
        [program, "--vanilla", str(READ_BY_R), str(exported), line, str(tmp_path)],
        check=True, env=os.environ | {"LC_ALL": locale},
    )  # fmt: skip
    told = (tmp_path / "classes.tsv").read_text(encoding="utf-8").splitlines()
    by_place = {tuple(row.split("\t")[:2]): row.split("\t")[2:] for row in told}
    seen = 0
    for name, table in tables(exported).items():
        for place, field in enumerate(table.schema, 1):
            column, kind, rows = by_place[name, str(place)]
            assert (column, int(rows)) == (field.name, table.num_rows), name
            data = (tmp_path / f"{name}.{place}").read_bytes()
            same(f"{name}.{column}", kind, data, table[field.name])
            seen += 1
    assert seen == len(told)


def same(name: str, kind: str, data: bytes, column: pa.ChunkedArray) -> None:
    """A column as R took it against the column of Parquet."""
    if column.null_count == len(column):
        # Nothing to tell a type by: R calls it logical.
        assert kind == "logical" and np.isnan(np.frombuffer(data)).all(), name
        return
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if numeric or pa.types.is_boolean(column.type):
        assert kind in ({"logical"} if not numeric else {"integer", "numeric"}), (name, kind)
        expected = np.array(
            [np.nan if value is None else float(value) for value in column.to_pylist()]
        )
        # R's reader of numbers may be off by the last bit.
        np.testing.assert_allclose(np.frombuffer(data), expected, rtol=3e-16, err_msg=name)
        return
    assert kind == "character", (name, kind)
    found = [text if text != "\1" else None for text in data.decode("utf-8").split("\0")[:-1]]
    values = column.to_pylist()
    if not pa.types.is_string(column.type):
        assert [item is None for item in found] == [item is None for item in values], name
        return
    guarded = [f"'{text}" if text and text[0] in "=+-@\t\r" else text or None for text in values]
    assert found == guarded, name


def test_the_data_package_is_valid_and_a_changed_byte_is_noticed(
    exported: Path, tmp_path: Path
) -> None:
    frictionless = pytest.importorskip("frictionless")
    report = frictionless.validate(str(exported / "datapackage.json"))
    assert report.valid, report.flatten(["name", "type", "message"])[:5]
    assert report.stats["tasks"] == len(tables(exported))
    copy = tmp_path / "copy"
    shutil.copytree(exported, copy)
    path = copy / "csv" / "marts_ranking.csv"
    path.write_bytes(
        path.read_bytes().replace(b"closed", b"elosed", 1).replace(b"v4.0", b"v4.1", 1)
    )
    assert not frictionless.validate(str(copy / "datapackage.json")).valid


def test_the_croissant_is_valid_and_gives_the_rows(exported: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    dataset = croissant.Dataset(jsonld=str(exported / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    names = {records.uuid for records in dataset.metadata.record_sets}
    held = tables(exported)
    assert {name.replace(".", "_") for name in names} == set(held)
    for name in ("marts.round_summary", "marts.fleet_law", "marts.best_for_lambda"):
        assert sum(1 for _ in dataset.records(name)) == held[name.replace(".", "_")].num_rows
