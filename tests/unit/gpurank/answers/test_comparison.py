"""Setting two results against each other: allowed, warned of, or refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import gpurank
from gpurank.answers.comparison import NotComparable, check, compare
from gpurank.answers.warehouse import NoData
from tasks.build.load import create_empty

BREAK = "soft break between v5.0 and v5.1: schedule changed"
PLAIN: dict[str, Any] = {
    "submitter": "Acme",
    "system_name": "box",
    "accelerator": "H100 SXM5 80GB",
    "division": "closed",
    "availability": "available",
    "is_independent": True,
    "source_commit": "c" * 40,
    "benchmark_folder": "llama31_405b",
}


def insert(con: duckdb.DuckDBPyConnection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" for _ in row)
    con.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def result(con: duckdb.DuckDBPyConnection, result_id: str, benchmark: str, **fields: Any) -> None:
    count, time = fields.get("accelerator_count"), fields.get("score_min")
    minutes = count * time if count and time else None
    row = PLAIN | {
        "result_id": result_id,
        "round_id": result_id.partition("/")[0],
        "benchmark": benchmark,
        "accelerator_minutes": minutes,
        "first_seen_result_id": result_id,
    }
    insert(con, "marts.result", row | fields)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse of a few results of two benchmarks."""
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path))
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as con:
        create_empty(con, ["marts.result", "marts.comparison", "marts.ranking"])
        con.execute("CREATE SCHEMA raw")
        con.execute(
            "CREATE TABLE raw.round_version (round_id VARCHAR, source_commit VARCHAR, "
            "taken_at VARCHAR)"
        )
        result(con, "v5.0/a/s/b", "llama31_405b", score_min=30.0, accelerator_count=512)
        result(con, "v5.1/a/s/b", "llama31_405b", score_min=10.0, accelerator_count=2048)
        result(
            con, "v5.1/a/p/b", "llama31_405b", score_min=20.0, accelerator_count=None,
            availability="preview", is_independent=False, first_seen_result_id="v5.0/a/s/b",
        )  # fmt: skip
        result(con, "v5.1/a/n/b", "llama31_405b", score_missing_reason="no_logs")
        result(con, "v5.1/a/c/b", "llama31_405b", score_min=9.0, accelerator_count=0)
        result(con, "v0.5/a/s/r", "resnet", score_min=9.0, accelerator_count=8)
        result(con, "v4.0/a/s/r", "resnet", score_min=9.0, accelerator_count=8)
        for one in ("v5.0", "v5.1"):
            for other in ("v5.0", "v5.1"):
                pair = {"benchmark": "llama31_405b", "round_id": one, "other_round_id": other}
                warning = BREAK if one != other else None
                insert(con, "marts.comparison", pair | {"is_comparable": True, "warning": warning})
        apart = {"benchmark": "resnet", "round_id": "v0.5", "other_round_id": "v4.0"}
        insert(con, "marts.comparison", apart | {"is_comparable": False, "reason": "apart"})
    return tmp_path


@pytest.fixture
def con(home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as con:
        yield con


def test_speedup_and_efficiency_are_of_the_second_against_the_first(
    con: duckdb.DuckDBPyConnection,
) -> None:
    found = compare(con, "v5.0/a/s/b", "v5.1/a/s/b")
    assert found.speedup == pytest.approx(30 / 10)
    assert found.efficiency == pytest.approx((30 * 512) / (10 * 2048))
    assert found.warnings == (BREAK,)
    assert found.results.column("speedup") == [1.0, pytest.approx(3)]
    assert found.results.column("warning") == [BREAK, BREAK]


def test_what_else_differs_is_told(con: duckdb.DuckDBPyConnection) -> None:
    found = compare(con, "v5.1/a/s/b", "v5.1/a/p/b")
    assert found.speedup == pytest.approx(0.5)
    assert found.efficiency is None
    assert found.warnings == (
        "availability differs: available and preview",
        "v5.1/a/p/b was first filed as v5.0/a/s/b",
    )
    assert found.notes == (
        "v5.1/a/p/b has no known accelerator count, so it has no accelerator-minutes",
    )
    same = compare(con, "v5.0/a/s/b", "v5.1/a/p/b")
    assert "both are the same measurement" in same.warnings


def test_a_missing_number_gives_no_ratio_but_a_note(con: duckdb.DuckDBPyConnection) -> None:
    found = compare(con, "v5.0/a/s/b", "v5.1/a/n/b")
    assert (found.speedup, found.efficiency) == (None, None)
    assert found.notes == ("v5.1/a/n/b has no score (no_logs)",)
    cpu_only = compare(con, "v5.0/a/s/b", "v5.1/a/c/b")
    assert cpu_only.speedup == pytest.approx(30 / 9)
    assert cpu_only.efficiency is None
    assert "no accelerators" in cpu_only.notes[0]


def test_other_spans_and_other_benchmarks_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotComparable, match="apart"):
        compare(con, "v0.5/a/s/r", "v4.0/a/s/r")
    with pytest.raises(NotComparable, match="only results of one benchmark"):
        compare(con, "v4.0/a/s/r", "v5.0/a/s/b")
    with pytest.raises(NotComparable, match="apart"):
        check(con, "resnet", "v0.5", "v4.0")
    assert check(con, "llama31_405b", "v5.0", "v5.0") is None
    assert check(con, "llama31_405b", "v5.1", "v5.0") == BREAK


def test_what_is_not_there_is_named(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NoData, match=r"v5.0/a/s/b"):
        compare(con, "v5.0/a/s/x", "v5.1/a/s/b")
    with pytest.raises(NoData, match=r"no result of llama31_405b in v4.0.*v5.0, v5.1"):
        check(con, "llama31_405b", "v4.0", "v5.1")
    with pytest.raises(NoData, match="no benchmark is called 'resnat'; did you mean resnet"):
        check(con, "resnat", "v4.0", "v5.1")


def test_the_python_interface_refuses_too(home: Path) -> None:
    assert gpurank.compare("v5.0/a/s/b", "v5.1/a/s/b").speedup == pytest.approx(3)
    with pytest.raises(gpurank.NotComparable):
        gpurank.check_comparable("resnet", "v0.5", "v4.0")


def test_the_command_shows_the_warning_beside_the_numbers(
    home: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, _ = call("compare", "v5.0/a/s/b", "v5.1/a/s/b")
    assert code == 0
    assert f"Warning: {BREAK}." in out
    assert "3.000" in out and "0.750" in out
    code, out, err = call("compare", "v5.0/a/s/b", "v5.1/a/s/b", "-f", "json")
    assert [row["warning"] for row in json.loads(out)] == [BREAK, BREAK]
    assert BREAK in err


def test_the_command_refuses_with_a_code_of_its_own(
    home: Path, call: Callable[..., tuple[int, str, str]]
) -> None:
    assert call("compare", "v0.5/a/s/r", "v4.0/a/s/r") == (8, "", "gpurank: apart\n")
    assert call("compare", "v0.5", "v4.0", "-b", "resnet")[0] == 8
