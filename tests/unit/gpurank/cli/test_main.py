"""Commands: bad input gives one clear message and its exit code, and never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from gpurank.cli import main as cli
from gpurank.store.run_lock import writing


def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    monkeypatch.setattr(sys, "argv", ["gpurank", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capsys.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("GPURANK_HOME", str(folder))
    for name in ("GPURANK_SOURCE", "GPURANK_WORKERS", "GPURANK_LAMBDA", "GPURANK_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["ingest", "4.0"], 2, "is not a round name"),
        (["backfill", "--rounds", "v4.0..x", "--source", "."], 2, "is not a round name"),
        (["backfill", "--rounds", " , "], 2, "selects no round"),
        (["run", "--workers", "0"], 2, "--workers"),
        (["analyze", "--lambda", "-1"], 2, "is not a number above 0"),
        (["ingest", "v4.0", "--source", "no-such-folder"], 3, "does not exist"),
        (["analyze"], 6, "gpurank run"),
        (["top", "--benchmark", "resnet"], 6, "gpurank run"),
        (["clusters", "--benchmark", "resnet"], 6, "gpurank run"),
        (["why", "v4.0/x/y/z"], 6, "gpurank run"),
        (["query", "select 1"], 6, "gpurank run"),
        (["rounds"], 6, "gpurank run"),
        (["qurey"], 2, "query"),
    ],
)
def test_each_mistake_is_told_in_one_message(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    found, out, err = call(monkeypatch, capsys, *arguments)
    assert (found, out) == (code, "")
    assert told in err
    assert "Traceback" not in err


def test_a_damaged_warehouse_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    (home / "warehouse.duckdb").write_bytes(b"not a database" * 1000)
    code, _, err = call(monkeypatch, capsys, "query", "select 1")
    assert code == 6
    assert "gpurank analyze" in err


@pytest.fixture
def warehouse(home: Path) -> Path:
    home.mkdir()
    with duckdb.connect(str(home / "warehouse.duckdb")) as con:
        con.execute("create schema marts; create table marts.thing as select 1 as a, 'x' as b")
    return home / "warehouse.duckdb"


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
@pytest.mark.parametrize(
    "sql",
    [
        "selekt 1",
        "select * from marts.thingy",
        "create table marts.other as select 1",
        "drop table marts.thing",
        "copy marts.thing to 'out.csv'",
        "select * from read_csv('/etc/passwd')",
        "attach 'other.duckdb'",
        "set enable_external_access = true",
    ],
)
def test_a_query_only_reads(
    warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sql: str,
    form: str,
) -> None:
    before = warehouse.read_bytes()
    code, out, err = call(monkeypatch, capsys, "query", sql, "--format", form)
    assert (code, out) == (2, "")
    assert err and "Traceback" not in err
    assert warehouse.read_bytes() == before


def test_a_query_answers_in_every_format(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "select a, b from marts.thing"
    code, out, _ = call(monkeypatch, capsys, "query", sql, "--format", "csv")
    assert (code, out) == (0, "a,b\n1,x\n")
    code, out, _ = call(monkeypatch, capsys, "query", sql, "-f", "json")
    assert (code, json.loads(out)) == (0, [{"a": 1, "b": "x"}])
    path = warehouse.parent / "out.parquet"
    code, out, _ = call(monkeypatch, capsys, "query", sql, "-f", "parquet", "-o", str(path))
    assert (code, out) == (0, "")
    with duckdb.connect() as con:
        assert con.execute("from read_parquet(?)", [str(path)]).fetchall() == [(1, "x")]


def test_a_second_run_says_who_holds_the_folder_and_changes_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with writing(home / "gpurank.lock", "gpurank backfill"):
        before = sorted(home.rglob("*"))
        code, _, err = call(monkeypatch, capsys, "ingest", "v4.0", "--source", str(home))
        code_run, _, err_run = call(monkeypatch, capsys, "backfill", "--source", str(home))
        assert sorted(home.rglob("*")) == before
    # An empty folder holds no round: the source is refused before or after the lock.
    assert {code, code_run} == {3, 5}
    assert "Traceback" not in err + err_run


def test_debug_adds_the_traceback(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(monkeypatch, capsys, "rounds", "--debug")
    assert code == 6
    assert "Traceback" in err


def test_doctor_runs_before_anything_is_there(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(monkeypatch, capsys, "doctor", "--format", "csv")
    assert code == 0
    assert out.splitlines()[0] == "what,state,found"
    assert not home.exists()


def test_help_needs_neither_orchestrator_nor_frames() -> None:
    code = (
        "import sys; from gpurank.cli import main as cli\n"
        "try: cli.app(['top', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'prefect', 'polars', 'pandas', 'pyarrow', 'great_expectations', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "gpurank top --benchmark resnet" in done.stdout


@pytest.mark.parametrize("arguments", [["top", "-b", "resnet"], ["compare", "a", "b"]])
def test_a_warehouse_of_another_version_says_what_to_do(
    warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    code, out, err = call(monkeypatch, capsys, *arguments)
    assert (code, out) == (6, "")
    assert "another version" in err and "gpurank analyze" in err
