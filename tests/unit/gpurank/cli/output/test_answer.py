"""Answers keep their values in every format; tables mark what is absent."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gpurank.answers.warehouse import Answer
from gpurank.cli.output.answer import Format, show

ANSWER = Answer(
    ("name", "score_min", "count", "flag", "parts", "at"),
    (
        ("a, [b]", 0.1 + 0.2, 8, True, [1.5, 2.5], datetime(2030, 1, 2, tzinfo=UTC)),
        ("é", None, 1 << 40, False, [], None),
        ("nan", math.nan, 0, None, None, None),
    ),
    ("VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN", "DOUBLE[]", "TIMESTAMP WITH TIME ZONE"),
    "title",
)


def test_csv_keeps_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    show(ANSWER, Format.csv, notes=["note"])
    shown = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert float(rows[0]["score_min"]) == 0.1 + 0.2
    assert [row["name"] for row in rows] == ["a, [b]", "é", "nan"]
    assert [row["score_min"] for row in rows][1:] == ["", ""]
    assert shown.err == "note\n"


def test_json_is_json_without_nan(capsys: pytest.CaptureFixture[str]) -> None:
    show(ANSWER, Format.json)
    rows = json.loads(capsys.readouterr().out)
    assert rows[0] == {
        "name": "a, [b]", "score_min": 0.1 + 0.2, "count": 8, "flag": True,
        "parts": [1.5, 2.5], "at": "2030-01-02T00:00:00+00:00",
    }  # fmt: skip
    assert rows[2]["score_min"] is None


def test_parquet_keeps_types_of_empty_columns_too(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    show(ANSWER, Format.parquet, path, notes=["note"])
    table = pq.read_table(path)
    assert table.column_names == list(ANSWER.columns)
    assert [str(table.schema.field(name).type) for name in ("score_min", "count", "flag")] == [
        "double", "int64", "bool",
    ]  # fmt: skip
    assert table["count"].to_pylist() == [8, 1 << 40, 0]
    assert table.schema.metadata[b"notes"] == b"note"


def test_a_piped_table_cuts_nothing_and_has_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 300
    show(Answer(("a", "b"), ((long, 1.0),), ("VARCHAR", "DOUBLE")), Format.table, notes=["n" * 200])
    shown = capsys.readouterr().out
    assert long in shown and "n" * 200 in shown
    assert "\x1b" not in shown
    show(ANSWER, Format.table, columns={"name": "who", "score_min": "min"})
    shown = capsys.readouterr().out
    assert "a, [b]" in shown and "0.300" in shown and "count" not in shown
    assert "who" in shown and "score_min" not in shown
