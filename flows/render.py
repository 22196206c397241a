"""Answers as tables for people and as CSV, JSON or Parquet for machines."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

from gpurank.reading import Answer


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
) -> None:
    """Write an answer to a file or stdout.

    ``columns`` picks what a person sees in a table, and under which heading; machines get every
    column under its name. ``notes`` follow
    a table on stdout; beside CSV and JSON they go to stderr, into Parquet as metadata.
    """
    if form is Format.parquet:
        write_parquet(_typed(answer), output, notes)
        return
    if output is not None:
        with output.open("w", encoding="utf-8", newline="") as stream:
            _text(answer, form, stream, notes, columns)
    else:
        _text(answer, form, sys.stdout, notes, columns)


def _text(
    answer: Answer,
    form: Format,
    stream: TextIO,
    notes: Sequence[str],
    columns: Mapping[str, str] | None,
) -> None:
    if form is Format.table:
        _table(answer, stream, notes, columns)
        return
    if form is Format.csv:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([["" if v is None else _plain(v) for v in row] for row in answer.rows])
    else:
        rows = [dict(zip(answer.columns, map(_plain, row), strict=True)) for row in answer.rows]
        json.dump(rows, stream, ensure_ascii=False, indent=1, allow_nan=False, default=str)
        stream.write("\n")
    for note in notes:
        print(note, file=sys.stderr)


def _table(
    answer: Answer, stream: TextIO, notes: Sequence[str], columns: Mapping[str, str] | None
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heads = columns or {name: name for name in answer.columns}
    places = [answer.columns.index(name) for name in heads]
    width = (
        None if stream.isatty() else _wide(answer, list(zip(heads.values(), places, strict=True)))
    )
    console = Console(file=stream, width=width)
    table = Table(title=answer.title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for head, place in zip(heads.values(), places, strict=True):
        is_number = any(isinstance(row[place], int | float) for row in answer.rows)
        table.add_column(head, justify="right" if is_number else "left", overflow="fold")
    for row in answer.rows:
        table.add_row(*[Text(_cell(row[place])) for place in places])
    console.print(table)
    for note in notes:
        console.print(note, style="dim", markup=False, highlight=False, soft_wrap=True)


def _wide(answer: Answer, shown: Sequence[tuple[str, int]]) -> int:
    """A piped table is as wide as its content: nothing is cut that a program may search for."""
    widths = [
        max([len(head), *(len(_cell(row[place])) for row in answer.rows)]) for head, place in shown
    ]
    return max(80, sum(widths) + 3 * len(widths))


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
    return str(value)


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
