"""Commands: bad input ends with one clear message and its exit code, never with a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import duckdb
import pytest
import typer

from flows.console import Console, current_console
from gpurank.cli import main as cli
from gpurank.store.run_lock import writing

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("GPURANK_HOME", str(folder))
    for name in (
        "GPURANK_SOURCE",
        "GPURANK_WORKERS",
        "GPURANK_LAMBDA",
        "GPURANK_DEBUG",
        "GPURANK_QUIET",
        "GPURANK_LOG_FORMAT",
    ):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
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
        (["--quiet", "--verbose", "rounds"], 2, "not both"),
        (["--quiet", "rounds", "--verbose"], 2, "not both"),
    ],
)
def test_each_mistake_has_one_message(
    home: Path,
    call: Call,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    exit_code, out, err = call(*arguments)
    assert (exit_code, out) == (code, "")
    assert words in err
    assert "Traceback" not in err


def test_a_damaged_warehouse_is_reported(home: Path, call: Call) -> None:
    home.mkdir()
    (home / "warehouse.duckdb").write_bytes(b"not a database" * 1000)
    code, _, err = call("query", "select 1")
    assert code == 6
    assert "gpurank analyze" in err


@pytest.fixture
def warehouse(home: Path) -> Path:
    home.mkdir()
    with duckdb.connect(str(home / "warehouse.duckdb")) as con:
        con.execute("create schema marts; create table marts.thing as select 1 as a, 'x' as b")
    return home / "warehouse.duckdb"


# tests/hostile/test_queries.py tries every statement that does more than read.
@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
@pytest.mark.parametrize("sql", ["selekt 1", "drop table marts.thing"])
def test_a_refused_query_writes_nothing(warehouse: Path, call: Call, sql: str, form: str) -> None:
    before = warehouse.read_bytes()
    code, out, err = call("query", sql, "--format", form)
    assert (code, out) == (2, "")
    assert err and "Traceback" not in err
    assert warehouse.read_bytes() == before


def test_a_query_answers_in_every_format(warehouse: Path, call: Call) -> None:
    sql = "select a, b from marts.thing"
    code, out, _ = call("query", sql, "--format", "csv")
    assert (code, out) == (0, "a,b\n1,x\n")
    code, out, _ = call("query", sql, "-f", "json")
    assert (code, json.loads(out)) == (0, [{"a": 1, "b": "x"}])
    path = warehouse.parent / "out.parquet"
    code, out, _ = call("query", sql, "-f", "parquet", "-o", str(path))
    assert (code, out) == (0, "")
    with duckdb.connect() as con:
        assert con.execute("from read_parquet(?)", [str(path)]).fetchall() == [(1, "x")]


def test_a_second_run_says_who_holds_the_folder_and_changes_nothing(home: Path, call: Call) -> None:
    with writing(home / "gpurank.lock", "gpurank backfill"):
        before = sorted(home.rglob("*"))
        code, _, err = call("ingest", "v4.0", "--source", str(home))
        code_run, _, err_run = call("backfill", "--source", str(home))
        assert sorted(home.rglob("*")) == before
    # An empty folder holds no round: the source is refused before or after the lock.
    assert {code, code_run} == {3, 5}
    assert "Traceback" not in err + err_run


@pytest.mark.parametrize(
    "arguments", [["rounds", "--debug"], ["--debug", "rounds"], ["rounds", "-f", "csv", "--debug"]]
)
def test_debug_adds_the_traceback(home: Path, call: Call, arguments: list[str]) -> None:
    code, _, err = call(*arguments)
    assert code == 6 and "Traceback" in err


@pytest.mark.parametrize(
    ("arguments", "variables", "console"),
    [
        (["doctor"], {}, Console()),
        (["--quiet", "doctor"], {}, Console(is_quiet=True)),
        (["doctor", "--quiet"], {}, Console(is_quiet=True)),
        (["doctor", "--verbose", "--debug"], {}, Console(is_verbose=True, is_debug=True)),
        (["doctor", "--log-format", "json"], {}, Console(is_json=True)),
        (["--log-format=json", "doctor", "--quiet"], {}, Console(is_quiet=True, is_json=True)),
        (["doctor"], {"GPURANK_LOG_FORMAT": "json"}, Console(is_json=True)),
        (["doctor", "--log-format=text"], {"GPURANK_LOG_FORMAT": "json"}, Console()),
        (["doctor"], {"GPURANK_QUIET": "1", "GPURANK_DEBUG": "0"}, Console(is_quiet=True)),
        (["doctor", "--verbose"], {"GPURANK_QUIET": "1"}, Console(is_verbose=True)),
        (["doctor"], {"GPURANK_DEBUG": "1"}, Console(is_debug=True)),
    ],
)
def test_console_options_stand_before_or_after_the_command(
    home: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    variables: dict[str, str],
    console: Console,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code, _, _ = call(*arguments)
    assert code == 0
    assert current_console() == console


def test_an_error_is_one_json_line_where_that_is_asked(home: Path, call: Call) -> None:
    code, _, err = call("rounds", "--log-format", "json")
    assert code == 6
    line = json.loads(err)
    assert (line["level"], line["exit_code"]) == ("error", 6)
    assert "gpurank run" in line["message"]


def test_json_is_short_for_format_json(warehouse: Path, call: Call) -> None:
    code, out, _ = call("query", "select a from marts.thing", "--json")
    assert (code, json.loads(out)) == (0, [{"a": 1}])
    # After -- it is an argument, and not a statement.
    code, out, _ = call("query", "--", "--json")
    assert (code, out) == (2, "")


def test_the_version(call: Call) -> None:
    assert call("--version") == (0, f"gpurank {version('gpurank')}\n", "")


def test_every_command_takes_the_console_options_and_has_a_heading_in_the_help() -> None:
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        if name == "facts":
            command = command.commands["build"]
        else:
            assert command.rich_help_panel, name
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--quiet", "--verbose", "--debug", "--log-format"} <= options, name
        assert ("--json" in options) == ("--format" in options and name != "export"), name


def test_the_package_runs_as_a_module(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpurank", "rounds"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (6, "")
    assert "gpurank run" in done.stderr


def test_doctor_runs_before_anything_is_there(home: Path, call: Call) -> None:
    code, out, _ = call("doctor", "--format", "csv")
    assert code == 0
    assert out.splitlines()[0] == "what,state,found"
    assert not home.exists()


def test_help_imports_no_heavy_library() -> None:
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
    call: Call,
    arguments: list[str],
) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (6, "")
    assert "another version" in err and "gpurank analyze" in err
