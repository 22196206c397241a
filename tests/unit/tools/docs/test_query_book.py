"""docs/queries.md: every query reads declared columns; its answers are worked out elsewhere too.

That the printed answers are those of the shipped rounds is tested in tests/flows/test_docs.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from query_book import BOOK, Question, answer, questions

from gpurank.declared.contracts import contracts
from gpurank.pages.check import footnote_gaps
from tasks.build.load import create_empty

QUESTIONS = questions()


@pytest.fixture(scope="module")
def declared() -> Iterator[duckdb.DuckDBPyConnection]:
    """Every declared table, empty."""
    with duckdb.connect() as con:
        create_empty(con, [contract.table for contract in contracts()])
        yield con


def test_there_are_twenty_and_each_is_answered() -> None:
    assert [question.title.split(".")[0] for question in QUESTIONS] == [
        str(number) for number in range(1, 21)
    ]
    assert all(question.answer.count("\n") >= 2 for question in QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.title)
def test_each_reads_declared_columns_only(
    declared: duckdb.DuckDBPyConnection, question: Question
) -> None:
    sql = question.sql
    heads = answer(declared, sql).splitlines()[1].split()
    assert heads == question.answer.splitlines()[1].split()


def test_answers_hold_the_published_acceptance_values() -> None:
    """Values that were worked out apart from this code (method's acceptance table)."""
    lines = {q.title.split(".")[0]: q.answer.splitlines()[2:] for q in QUESTIONS}
    first = lines["1"]
    assert [line.split()[-1] for line in first[:3]] == ["179.5", "181.2", "183.9"]
    assert [line.split()[-2] for line in first[:3]] == ["2.494", "2.516", "2.554"]
    bounds = [line.split()[:2] for line in lines["3"]]
    assert float(bounds[0][1]) == pytest.approx(6.6, abs=0.05)
    assert float(bounds[1][1]) == pytest.approx(183, abs=1)
    # Members and median minutes of the full history, found by an independent calculation.
    expected = [(28, 0.61), (36, 5.47), (57, 13.60), (121, 31.07), (48, 61.90)]
    for line, (count, minutes) in zip(lines["10"], expected, strict=True):
        given = [float(value) for value in line.split()[-4:]]
        assert given[0] == count
        assert given[1] == pytest.approx(minutes, rel=0.001)


def test_the_page_says_what_its_numbers_are() -> None:
    assert footnote_gaps(BOOK.read_text(encoding="utf-8")) == ()
