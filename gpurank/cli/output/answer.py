"""Answers as tables for people and as CSV, JSON or Parquet for programs."""

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
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpurank.answers.warehouse import Answer
from gpurank.cli.output.table_layout import Column, choose_columns, total_width
from gpurank.terminal_safety import in_one_line, say, visible

if TYPE_CHECKING:
    import pyarrow as pa

# A spreadsheet takes a cell that begins with one of these for a formula. The wide forms are what
# Excel takes for the same signs in East Asian locales.
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

    ``columns`` picks the columns of a table and their headings; programs get every column under
    its own name. ``drop`` names the headings to leave out first on a narrow terminal. ``notes``
    follow a table; for CSV and JSON they go to stderr, in Parquet they are metadata.
    """
    if form is Format.parquet:
        write_parquet(_arrow_table(answer), output, notes)
        return
    with redirect_to(output, newline=""):
        if form is Format.table:
            _print_table(answer, notes, columns, drop)
            return
        if form is Format.csv:
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(answer.columns)
            writer.writerows([_csv_cell(value) for value in row] for row in answer.rows)
        else:
            rows = [
                dict(zip(answer.columns, map(_json_value, row), strict=True)) for row in answer.rows
            ]
            json.dump(rows, sys.stdout, ensure_ascii=False, indent=1, allow_nan=False, default=str)
            print()
    for note in notes:
        say(note, sys.stderr)


def print_footnotes(notes: Sequence[str]) -> None:
    """Print notes: on a terminal dimmed and wrapped between words, elsewhere one line each."""
    console = _console()
    for note in notes:
        console.print(
            visible(note),
            style="dim",
            markup=False,
            highlight=False,
            soft_wrap=not sys.stdout.isatty(),
        )


def write_json(value: object, output: Path | None) -> None:
    """Write a structure as JSON, to a file or stdout."""
    with redirect_to(output):
        print(json.dumps(value, ensure_ascii=False, indent=1, default=str))


def write_parquet(table: pa.Table, output: Path | None, notes: Sequence[str] = ()) -> None:
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


@contextmanager
def redirect_to(output: Path | None, newline: str | None = None) -> Iterator[None]:
    """Sends what the block prints to a file, if one is named."""
    if output is None:
        yield
        return
    with output.open("w", encoding="utf-8", newline=newline) as stream, redirect_stdout(stream):
        yield


def _print_table(
    answer: Answer,
    notes: Sequence[str],
    headings: Mapping[str, str] | None,
    drop: Sequence[str],
) -> None:
    if headings is None:
        headings = {name: name for name in answer.columns}
    columns = [_column(answer, name, heading) for name, heading in headings.items()]
    console = _console()
    # Piped output is as wide as its content: no line that a program may search for is broken.
    width = console.width if sys.stdout.isatty() else None
    natural_width = total_width(column.full_width for column in columns)
    layout = choose_columns(columns, width, drop)
    table = Table(
        title=answer.title and in_one_line(answer.title),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
        collapse_padding=True,
    )
    is_narrow = width is not None and natural_width > width
    for column in layout.columns:
        table.add_column(
            column.heading,
            justify="right" if column.is_number else "left",
            overflow="fold",
            # Rich narrows text columns, the widest first; the width of numbers is fixed.
            width=column.cell_width if is_narrow and column.is_number else None,
            max_width=column.cell_width if is_narrow else None,
        )
    for cells in zip(*(column.cells for column in layout.columns), strict=True):
        table.add_row(*map(Text, cells))
    if width is None:
        console.width = max(80, natural_width + 2)
    console.print(table)
    layout_notes = []
    if layout.constants:
        constants = ", ".join(f"{heading} {value}" for heading, value in layout.constants)
        layout_notes.append(f"In every row: {constants}.")
    if layout.left_out:
        layout_notes.append(
            f"Left out at {width} columns: {', '.join(layout.left_out)}; a wider terminal or "
            "--format csv shows all."
        )
    print_footnotes([*layout_notes, *notes])


def _console() -> Console:
    """Returns a console for stdout, with colour on a terminal only, whatever the environment."""
    if sys.stdout.isatty():
        return Console(file=sys.stdout)
    return Console(file=sys.stdout, force_terminal=False, color_system=None)


def _column(answer: Answer, name: str, heading: str) -> Column:
    values = answer.column(name)
    is_number = any(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )
    return Column(in_one_line(heading), tuple(map(_table_cell, values)), is_number)


def _table_cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(_table_cell, value))
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return in_one_line(str(value))


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    if 0 < size < 0.001:
        return f"{value:.3g}"
    digits = 3 if size < 100 else 1 if size < 100_000 else 0
    return f"{value:,.{digits}f}"


def _json_value(value: Any) -> Any:
    """Returns a value that JSON can hold; infinity and NaN become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [_json_value(element) for element in value]
    if isinstance(value, dict):
        return {str(key): _json_value(element) for key, element in value.items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _csv_cell(value: Any) -> Any:
    """Returns a CSV cell; text that a spreadsheet would run as a formula gets a ``'`` before it."""
    plain = "" if value is None else _json_value(value)
    if not isinstance(plain, str):
        return plain
    # Python before 3.13 does not quote a bare carriage return, which ends the row for a reader.
    text = f"'{plain}" if plain[:1] in _FORMULA else plain
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def _arrow_table(answer: Answer) -> pa.Table:
    """Returns the answer as an Arrow table with the types of the warehouse."""
    import duckdb

    with duckdb.connect() as connection:
        columns = [
            f'"{name}" {kind}' for name, kind in zip(answer.columns, answer.types, strict=True)
        ]
        connection.execute(f"create table answer ({', '.join(columns)})")
        if answer.rows:
            marks = ", ".join("?" for _ in answer.columns)
            connection.executemany(f"insert into answer values ({marks})", answer.rows)  # noqa: S608
        return connection.sql("from answer").to_arrow_table()
