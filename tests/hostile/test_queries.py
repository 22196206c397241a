"""SQL that reaches for files, for the machine, or for all of its time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from gpurank.answers import sandbox
from gpurank.answers import warehouse as reading


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as con:
        con.execute(
            "create schema marts; create table marts.t as select range i from range(100000)"
        )
    return tmp_path


def ask(home: Path, sql: str, seconds: float = 2, form: str = "csv") -> tuple[int, str, float]:
    """(exit code, what stderr says, seconds) of a query in a process of its own."""
    environment = {**os.environ, "GPURANK_HOME": str(home), sandbox.LIMIT_VARIABLE: str(seconds)}
    command = [sys.executable, "-m", "gpurank.cli.main", "query", sql, "--format", form]
    start = time.monotonic()
    done = subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        timeout=120,
    )  # fmt: skip
    return done.returncode, done.stderr, time.monotonic() - start


@pytest.mark.parametrize(
    "sql",
    [
        "from read_text('/etc/passwd')",
        "from read_csv('/etc/passwd')",
        "from read_parquet('https://example.org/x.parquet')",
        "from '/etc/passwd'",
        "from glob('/etc/*')",
        "from duckdb_secrets()",
        "copy marts.t to 'out.csv'",
        "copy (select 1) to '/dev/stdout'",
        "export database 'out'",
        "import database 'out'",
        "attach 'other.duckdb' as o",
        "attach ':memory:' as o",
        "install httpfs",
        "load 'x.so'",
        "set enable_external_access = true",
        "set memory_limit = '1TB'",
        "reset memory_limit",
        "set lock_configuration = false",
        "pragma enable_profiling",
        "create secret s (type s3)",
        "drop table marts.t",
        "insert into marts.t values (1)",
        "select 1; drop table marts.t",
        "select getenv('HOME')",
        "select sql_auto_complete('x')",
        "from sniff_csv('/etc/passwd')",
        "from parquet_metadata('/etc/passwd')",
        "select * from query('copy marts.t to ''out.csv''')",
        "prepare p as copy marts.t to 'out.csv'; execute p",
        "from read_blob('/etc/passwd')",
        "from read_json('/etc/passwd')",
        "from read_ndjson_objects('/etc/passwd')",
        "select * from 's3://bucket/a.parquet'",
        "from '//host/share/x.csv'",
        "from parquet_schema('/etc/passwd')",
        "describe table '/etc/passwd'",
        "summarize '/etc/passwd'",
        "explain analyze copy marts.t to 'out.csv'",
        "copy marts.t from '/etc/passwd'",
        "attach 'warehouse.duckdb' as w (read_write)",
        "call enable_logging(storage := 'file', storage_config := {'path': 'log'})",
        "set temp_directory = 'elsewhere'",
        "set session threads = 64",
        "install 'x' from 'http://example.org'",
        "update extensions",
        "from sqlite_scan('a', 'b')",
        "from duckdb_extensions()",
        "from which_secret('s3://x', 's3')",
        "select * from read_csv(getenv('HOME') || '/.bashrc')",
        "comment on table marts.t is 'x'",
        "alter table marts.t rename to u",
        "create table marts.u as select 1",
        "truncate marts.t",
        "",
        "-- nothing",
        "select 1\0; drop table marts.t",
        "select " + "(" * 50_000 + "1" + ")" * 50_000,
        "select " + "1+" * 100_000 + "1",
        "select " + "[" * 50_000 + "]" * 50_000,
    ],
)
def test_nothing_but_the_warehouse_is_reached(
    home: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.chdir(home)
    before = (home / "warehouse.duckdb").read_bytes()
    with reading.open_warehouse(home / "warehouse.duckdb") as con:
        with pytest.raises(reading.QueryError), reading.queried(con):
            reading.ask(con, sql)
        assert reading.ask(con, "select count(*) from marts.t").rows == ((100_000,),)
    assert (home / "warehouse.duckdb").read_bytes() == before
    assert [path.name for path in home.iterdir()] == ["warehouse.duckdb"]


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from marts.t a, marts.t b, marts.t c where (a.i * b.i + c.i) % 7 = 1",
        "with recursive r(i) as (select 1 union all select i + 1 from r) select count(*) from r",
        # One expression, which the database cannot interrupt.
        "select list_reduce(range(20000000), lambda a, b: (a + b) % 7)",
        "select printf('%1000000000d', 1)",
        "from generate_series(1, 1000000000000)",
    ],
)
@pytest.mark.slow
def test_a_statement_without_end_is_ended(home: Path, sql: str) -> None:
    code, told, seconds = ask(home, sql)
    assert code == 2
    assert "took longer than 2 s" in told or "memory" in told.lower()
    assert "Traceback" not in told
    assert seconds < 30


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        ("select repeat('x', 4000000000)", "csv"),
        ("select range(1000000000)", "json"),
        ("select list(i::varchar || repeat('x', 60000)) from marts.t", "parquet"),
        ("select repeat('x', 60000) || i from marts.t", "csv"),
    ],
)
@pytest.mark.slow
def test_a_statement_that_wants_all_memory_is_refused(home: Path, sql: str, form: str) -> None:
    code, told, _ = ask(home, sql, seconds=20, form=form)
    assert code == 2
    assert "Traceback" not in told and told.startswith("gpurank: ")


def test_limits_are_lifted_afterwards(home: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with reading.open_warehouse(home / "warehouse.duckdb") as con:
        with reading.queried(con):
            assert resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
        assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.mark.parametrize(
    ("text", "seconds"), [("5", 5.0), ("0", 60.0), ("-1", 60.0), ("nan", 60.0), ("soon", 60.0)]
)
def test_the_limit_of_time(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    monkeypatch.setenv(sandbox.LIMIT_VARIABLE, text)
    assert sandbox.limit_s() == seconds
