"""Answers as tables for people and as CSV, JSON or Parquet for machines."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from gpurank.answers.warehouse import Answer
from gpurank.terminal_safety import in_one_line, say, visible

if TYPE_CHECKING:
    from rich.console import Console

    from gpurank.cli.output.table_layout import Column


# The wide forms are what Excel takes for the same signs in East Asian locales.
_FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


class Format(StrEnum):
    """Output formats of every command that answers with rows."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def show(
    answer: Answer,
    form: Format,
    output: Path | None = None,
    notes: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
) -> None:
    """Write an answer to a file or stdout.

    ``columns`` picks what a person sees in a table, and under which heading; machines get every
    column under its name. ``drop`` names the headings that go first where a terminal is narrow.
    ``notes`` follow a table on stdout; beside CSV and JSON they go to stderr, into Parquet as
    metadata.
    """
    if form is Format.parquet:
        write_parquet(_typed(answer), output, notes)
        return
    if output is not None:
        with output.open("w", encoding="utf-8", newline="") as stream:
            _text(answer, form, stream, notes, columns, drop)
    else:
        _text(answer, form, sys.stdout, notes, columns, drop)


def _text(
    answer: Answer,
    form: Format,
    stream: TextIO,
    notes: Sequence[str],
    columns: Mapping[str, str] | None,
    drop: Sequence[str],
) -> None:
    if form is Format.table:
        _table(answer, stream, notes, columns, drop)
        return
    if form is Format.csv:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([[_csv_cell(value) for value in row] for row in answer.rows])
    else:
        rows = [dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows]
        json.dump(rows, stream, ensure_ascii=False, indent=1, allow_nan=False, default=str)
        stream.write("\n")
    for note in notes:
        say(note, sys.stderr)


def _table(
    answer: Answer,
    stream: TextIO,
    notes: Sequence[str],
    columns: Mapping[str, str] | None,
    drop: Sequence[str],
) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from gpurank.cli.output.table_layout import fit

    if columns is None:
        heads = list(enumerate(answer.columns))
    else:
        heads = [(answer.columns.index(name), head) for name, head in columns.items()]
    console = _console(stream)
    # A piped table is as wide as its content: nothing is cut that a program may search for.
    room = console.width if stream.isatty() else None
    fitted = fit([_column(answer, place, head) for place, head in heads], room, drop)
    table = Table(
        title=answer.title and in_one_line(answer.title), box=box.SIMPLE_HEAD, title_justify="left",
        pad_edge=False, collapse_padding=True,
    )  # fmt: skip
    for one in fitted.columns:
        justify: Literal["left", "right"] = "right" if one.is_number else "left"
        table.add_column(one.head, justify=justify, overflow="fold", width=one.width)
    for cells in zip(*(one.cells for one in fitted.columns), strict=True):
        table.add_row(*map(Text, cells))
    if room is None:
        console.width = max(80, sum(one.width + 2 for one in fitted.columns) + 2)
    console.print(table)
    told = []
    if fitted.same:
        told.append("In every row: " + ", ".join(f"{h} {v}" for h, v in fitted.same) + ".")
    if fitted.left_out:
        told.append(
            f"Left out at {room} columns: {', '.join(fitted.left_out)}; a wider terminal or "
            "--format csv shows all."
        )
    tell((*told, *notes), stream)


def tell(notes: Sequence[str], stream: TextIO | None = None) -> None:
    """Footnotes: on a terminal dimmed and wrapped at words, elsewhere one line each."""
    out = sys.stdout if stream is None else stream
    console = _console(out)
    for note in notes:
        text = visible(note)
        console.print(text, style="dim", markup=False, highlight=False, soft_wrap=not out.isatty())


def _console(stream: TextIO) -> Console:
    """Plain wherever nobody looks: no colour in files and pipes, whatever the environment says."""
    from rich.console import Console

    if stream.isatty():
        return Console(file=stream)
    return Console(file=stream, force_terminal=False, color_system=None)


def _column(answer: Answer, place: int, head: str) -> Column:
    from gpurank.cli.output.table_layout import Column

    values = [row[place] for row in answer.rows]
    is_number = any(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return Column(in_one_line(head), tuple(map(_cell, values)), is_number)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return ", ".join(_cell(item) for item in value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return in_one_line(str(value))


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    digits = 3 if size < 100 else 1 if size < 100_000 else 0
    if 0 < size < 0.001:
        return f"{value:.3g}"
    return f"{value:,.{digits}f}"


def _plain(value: Any) -> Any:
    """A value as JSON and CSV can hold it; no number stands for a number that is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _csv_cell(value: Any) -> Any:
    """A CSV cell; text that a spreadsheet would run as a formula gets a ``'`` before it."""
    plain = "" if value is None else _plain(value)
    if not isinstance(plain, str):
        return plain
    # Python before 3.13 leaves a bare carriage return unquoted, which ends the row for a reader.
    text = f"'{plain}" if plain[:1] in _FORMULA else plain
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def write_parquet(table: Any, output: Path | None, notes: Sequence[str] = ()) -> None:
    """Write an Arrow table to a file or, as bytes, to stdout."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if notes:
        table = table.replace_schema_metadata({"notes": "\n".join(notes)})
    if output is not None:
        pq.write_table(table, output)
        return
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    sys.stdout.buffer.write(sink.getvalue().to_pybytes())
    sys.stdout.buffer.flush()


def _typed(answer: Answer) -> Any:
    """The answer as an Arrow table with the types that the warehouse gave it."""
    import duckdb

    with duckdb.connect() as con:
        columns = [f'"{n}" {t}' for n, t in zip(answer.columns, answer.types, strict=True)]
        con.execute(f"create table answer ({', '.join(columns)})")
        if answer.rows:
            marks = ", ".join("?" for _ in answer.columns)
            con.executemany(f"insert into answer values ({marks})", answer.rows)  # noqa: S608
        return con.sql("from answer").to_arrow_table()


def write_json(value: object, output: Path | None) -> None:
    """A structure as JSON, to a file or stdout."""
    text = json.dumps(value, ensure_ascii=False, indent=1, default=str) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")


@contextmanager
def into(output: Path | None) -> Iterator[None]:
    """What the block prints, in a file where one is named."""
    if output is None:
        yield
        return
    with output.open("w", encoding="utf-8") as stream, redirect_stdout(stream):
        yield
