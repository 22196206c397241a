"""Tables fit the terminal, name what they leave out, and are whole in a pipe."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpurank.answers.warehouse import Answer
from gpurank.cli.output.answer import Format, print_footnotes, show
from gpurank.cli.output.table_layout import Column, choose_columns, total_width

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
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(
    monkeypatch: pytest.MonkeyPatch, width: int, answer: Answer = ANSWER, drop: tuple[str, ...] = ()
) -> str:
    """Returns what a terminal of so many columns shows, with colours."""
    terminal = Terminal()
    with monkeypatch.context() as patch:
        for name in ("NO_COLOR", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        patch.setenv("COLUMNS", str(width))
        patch.setenv("TERM", "xterm-256color")
        patch.setattr(sys, "stdout", terminal)
        show(answer, Format.table, notes=["A note of many words, " * 9], drop=drop)
    return terminal.getvalue()


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100])
def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    lines = _ESCAPE.sub("", printed(monkeypatch, width)).splitlines()
    assert max(map(len, lines)) <= width


def test_constant_columns_are_shown_once_and_columns_left_out_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = _ESCAPE.sub("", printed(monkeypatch, 100))
    assert "In every row" not in wide and "Left out" not in wide
    text = " ".join(_ESCAPE.sub("", printed(monkeypatch, 60)).split())
    assert "In every row: round_id v9.0." in text
    text = " ".join(_ESCAPE.sub("", printed(monkeypatch, 34, drop=("submitter",))).split())
    assert "Left out at 34 columns: submitter;" in text
    assert "2.494" in text and "1,234.5" in text


def test_notes_are_dimmed_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "\x1b[2m" in printed(monkeypatch, 80)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.setenv(name, "1")
    show(ANSWER, Format.table, notes=["note"])
    print_footnotes(["another"])
    assert "\x1b" not in capsys.readouterr().out


# Heading, whether it is a column of numbers, characters of its longest cell.
columns_of_tables = st.lists(
    st.tuples(st.text("ab ", min_size=1, max_size=20), st.booleans(), st.integers(1, 30)),
    min_size=1,
    max_size=9,
)


@given(columns_of_tables, st.integers(35, 120))
def test_no_column_is_lost(described: list[tuple[str, bool, int]], width: int) -> None:
    columns = [Column(head, ("x" * size, "y"), number) for head, number, size in described]
    layout = choose_columns(columns, width)
    assert (
        len(layout.columns) == 1 or total_width(one.least_width for one in layout.columns) <= width
    )
    headings = [one.heading for one in layout.columns] + [head for head, _ in layout.constants]
    assert sorted([*headings, *layout.left_out]) == sorted(one.heading for one in columns)


@given(columns_of_tables, st.integers(35, 120))
def test_any_table_fits_and_no_number_is_broken(
    described: list[tuple[str, bool, int]], width: int
) -> None:
    cells = [10 ** min(size, 15) - 1 if number else "x" * size for _, number, size in described]
    names = tuple(f"{head}{n}" for n, (head, _, _) in enumerate(described))
    answer = Answer(names, (tuple(cells), (None,) * len(cells)), ("VARCHAR",) * len(cells))
    with pytest.MonkeyPatch.context() as monkeypatch:
        lines = _ESCAPE.sub("", printed(monkeypatch, width, answer)).splitlines()
    assert max(map(len, lines)) <= width
    columns = [
        Column(name, (str(cell), "-"), isinstance(cell, int))
        for name, cell in zip(names, cells, strict=True)
    ]
    layout = choose_columns(columns, width)
    for column in layout.columns:
        if column.is_number:
            assert any(column.cells[0] in line.split() for line in lines)
