"""Reads the questions of docs/queries.md and rewrites their answers.

``python tests/query_book.py WAREHOUSE`` rewrites the answers from a warehouse of the shipped
rounds; look at the difference before it is committed.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpurank.answers.notes import Source, footnotes

BOOK = Path(__file__).resolve().parents[1] / "docs" / "queries.md"
_SOURCES = "\n## Sources\n\n"
_QUESTION = re.compile(
    r"^## (?P<title>.+?)\n(?P<text>.*?)```sql\n(?P<sql>.*?)```\n(?P<answer>\n```text\n.*?```\n)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Question:
    """One query with its heading and the answer that is printed below it."""

    title: str
    sql: str
    answer: str


def questions() -> list[Question]:
    """Returns every question of the page, in order."""
    text = BOOK.read_text(encoding="utf-8")
    return [
        Question(found["title"], found["sql"], (found["answer"] or "").strip().strip("`").strip())
        for found in _QUESTION.finditer(text)
    ]


def answer(con: Any, sql: str) -> str:
    """Returns rows as the page prints them: a heading, then one line per row, columns aligned."""
    cursor = con.execute(sql)
    heads = [item[0] for item in cursor.description]
    rows = [["" if value is None else str(value) for value in row] for row in cursor.fetchall()]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = [
        "  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)) for row in [heads, *rows]
    ]
    return "text\n" + "\n".join(line.rstrip() for line in lines)


def rewritten(con: Any) -> str:
    """Returns the page with the answers of a warehouse."""

    def put(found: re.Match[str]) -> str:
        head = f"## {found['title']}\n{found['text']}```sql\n{found['sql']}```\n"
        return f"{head}\n```{answer(con, found['sql'])}\n```\n"

    text = _QUESTION.sub(put, BOOK.read_text(encoding="utf-8"))
    return text.partition(_SOURCES)[0] + _SOURCES + "\n\n".join(_notes(con)) + "\n"


def _notes(con: Any) -> tuple[str, ...]:
    sql = "select round_id, source_commit, taken_at::varchar from raw.round_version"
    return footnotes(None, [Source(*row) for row in con.execute(sql).fetchall()])


if __name__ == "__main__":
    import duckdb

    with duckdb.connect(sys.argv[1], read_only=True) as opened:
        BOOK.write_text(rewritten(opened), encoding="utf-8")
