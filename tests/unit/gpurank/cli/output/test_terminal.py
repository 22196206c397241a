"""The terminal: tables that fit it, no colour in pipes, short forms, completion."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpurank.answers.warehouse import Answer, nearest_round
from gpurank.cli import anywhere
from gpurank.cli.output import completion
from gpurank.cli.output.answer import Format, show, tell
from gpurank.cli.output.table_layout import Column, fit
from gpurank.settings import SettingsError

ANSWER = Answer(
    ("rank", "round_id", "submitter", "system_name", "score_min"),
    (
        (1, "v9.0", "A maker with a long name", "system-of-many-letters-x64", 2.4936),
        (2, "v9.0", "B", "s", 1234.5),
    ),
    ("BIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "DOUBLE"),
    "title",
)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    """A stream that says somebody looks at it."""

    def isatty(self) -> bool:
        return True


def drawn(monkeypatch: pytest.MonkeyPatch, width: int, **more: object) -> str:
    terminal = Terminal()
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", terminal)
    show(ANSWER, Format.table, notes=["A note of many words, " * 9], **more)  # type: ignore[arg-type]
    return terminal.getvalue()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100])
def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    lines = _ESCAPE.sub("", drawn(monkeypatch, width)).splitlines()
    assert max(map(len, lines)) <= width


def test_what_is_the_same_everywhere_is_told_once_and_what_is_left_out_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = _ESCAPE.sub("", drawn(monkeypatch, 100))
    assert "In every row" not in wide and "Left out" not in wide
    text = " ".join(_ESCAPE.sub("", drawn(monkeypatch, 60)).split())
    assert "In every row: round_id v9.0." in text
    text = " ".join(_ESCAPE.sub("", drawn(monkeypatch, 34, drop=["submitter"])).split())
    assert "Left out at 34 columns: submitter;" in text
    assert "2.494" in text and "1,234.5" in text


def test_notes_are_dimmed_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "\x1b[2m" in drawn(monkeypatch, 80)
    monkeypatch.undo()
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.setenv(name, "1")
    show(ANSWER, Format.table, notes=["note"])
    tell(["another"])
    assert "\x1b" not in capsys.readouterr().out


def test_a_cell_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(Answer(("a",), (("x\x1b[2Jy\x07",),), ("VARCHAR",)), Format.table)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\x07" not in shown and "x [2Jy" in shown


@given(
    st.lists(
        st.tuples(st.text("ab ", min_size=1, max_size=20), st.booleans(), st.integers(1, 30)),
        min_size=1,
        max_size=9,
    ),
    st.integers(35, 120),
)
def test_any_columns_fit_and_none_is_lost(asked: list[tuple[str, bool, int]], width: int) -> None:
    columns = [Column(head, ("x" * size, "y"), number) for head, number, size in asked]
    found = fit(columns, width)
    assert sum(one.width for one in found.columns) + 2 * len(found.columns) <= width
    names = [one.head for one in found.columns] + [head for head, _ in found.same]
    assert sorted([*names, *found.left_out]) == sorted(one.head for one in columns)
    # A number is never broken over two lines, but where it stands alone and is too wide.
    assert len(found.columns) == 1 or all(
        one.width >= one.content for one in found.columns if one.is_number
    )


@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        (["top", "-b", "x", "--json"], ["top", "-b", "x", "--format", "json"]),
        (["run", "--quiet"], ["--quiet", "run"]),
        (["run", "--workers", "2", "--verbose"], ["--verbose", "run", "--workers", "2"]),
        (["query", "--", "--json"], ["query", "--", "--json"]),
    ],
)
def test_short_forms_may_stand_anywhere(given_words: list[str], expected: list[str]) -> None:
    assert anywhere.arranged(given_words) == expected


def test_quiet_and_verbose_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(SettingsError, match="not both"):
        anywhere.set_loudness(True, True)
    anywhere.set_loudness(True, False)
    assert os.environ["GPURANK_QUIET"] == "1"
    anywhere.set_loudness(False, True)
    assert "GPURANK_QUIET" not in os.environ and os.environ["PREFECT_LOGGING_LEVEL"]


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path))
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as con:
        con.execute(
            "create schema marts; create table marts.result as select * from (values "
            "('v1.0/a/b/resnet', 'v1.0', 'resnet', 'A1'), ('v2.0/a/b/bert', 'v2.0', 'bert', null)"
            ") as _(result_id, round_id, benchmark, accelerator)"
        )
    return tmp_path


class Line:
    """What a shell has on its line so far."""

    def __init__(self, **params: str) -> None:
        self.params = params


def test_completion_offers_what_the_warehouse_holds(warehouse: Path) -> None:
    assert completion.benchmarks("") == ["bert", "resnet"]
    assert completion.benchmarks("re") == ["resnet"]
    assert completion.result_ids("v2") == ["v2.0/a/b/bert"]
    assert completion.accelerators("") == ["A1"]
    assert completion.round_names(Line(), "") == ["v1.0", "v2.0"]  # type: ignore[arg-type]
    bert = Line(benchmark="bert")
    assert completion.round_names(bert, "v") == ["v2.0"]  # type: ignore[arg-type]
    assert completion.results_or_rounds(bert, "") == ["v2.0"]  # type: ignore[arg-type]


def test_completion_is_silent_without_a_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path / "none"))
    assert completion.benchmarks("r") == []
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("4.0", "did you mean v4.0? it is in v3.0, v4.0"),
        ("v40", "did you mean v4.0? it is in v3.0, v4.0"),
        ("v6.0", "it is in v3.0, v4.0"),
    ],
)
def test_a_misspelt_round_is_recognised(asked: str, told: str) -> None:
    assert nearest_round(asked, ["v4.0", "v3.0"]) == told
