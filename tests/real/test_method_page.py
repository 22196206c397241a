"""The tables of docs/method.md are what the shipped rounds give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from real.shipped_warehouse import shipped_warehouse

import tasks.method.benchmark
from gpurank.method.settings import MethodSettings
from tasks.build.models import prepare_analysis, run_layer
from tools.docs.method_tables import (
    FOOTNOTES,
    TABLES,
    blocks,
    table_text,
)

pytestmark = pytest.mark.real
PAGE = Path(__file__).resolve().parents[2] / "docs" / "method.md"
# Tables of ResNet-50 alone; the others need every benchmark.
OF_RESNET = ("selection", "clusters", "k_profile", "ranking", "best_for_lambda")


def warehouse(benchmark: str | None) -> duckdb.DuckDBPyConnection:
    """The shipped rounds with the published settings, of one benchmark or of all."""
    con = shipped_warehouse(None, benchmark)
    tasks.method.benchmark.run_method(con, MethodSettings())
    prepare_analysis(con)
    run_layer(con, "marts")
    return con


@pytest.fixture(scope="module")
def resnet() -> Iterator[duckdb.DuckDBPyConnection]:
    con = warehouse("resnet")
    yield con
    con.close()


def differences(written: str, made: str) -> list[tuple[str, str]]:
    """Cells that differ by more than two units of their last digit, which a processor may."""
    old, new = ([re.split(r"\s*\|\s*", line) for line in t.splitlines()] for t in (written, made))
    if [len(line) for line in old] != [len(line) for line in new]:
        return [(written, made)]
    pairs = [pair for a, b in zip(old, new, strict=True) for pair in zip(a, b, strict=True)]
    return [(a, b) for a, b in pairs if a != b and not is_close(a, b)]


def is_close(one: str, other: str) -> bool:
    number = re.compile(r"-?[\d,]*\.?\d+")
    if number.sub("#", one) != number.sub("#", other):
        return False
    for a, b in zip(number.findall(one), number.findall(other), strict=True):
        decimals = len(a.partition(".")[2])
        if abs(float(a.replace(",", "")) - float(b.replace(",", ""))) > 2.01 * 10**-decimals:
            return False
    return True


@pytest.mark.parametrize("name", OF_RESNET)
def test_resnets_tables_are_fresh(resnet: duckdb.DuckDBPyConnection, name: str) -> None:
    assert (
        differences(blocks(PAGE.read_text(encoding="utf-8"))[name], table_text(resnet, name)) == []
    )


@pytest.mark.slow
def test_all_tables_are_fresh() -> None:
    con = warehouse(None)
    written = blocks(PAGE.read_text(encoding="utf-8"))
    assert {name: differences(text, table_text(con, name)) for name, text in written.items()} == {
        name: [] for name in written
    }
    con.close()


def test_every_table_stands_in_the_page_once() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert sorted(blocks(page)) == sorted([*TABLES, FOOTNOTES])
    assert page.count("<!-- table: ") == len(TABLES) + 1


def test_a_cell_may_differ_in_its_last_digit_only() -> None:
    assert differences("| 0.74 | 1–14 |", "| 0.75 | 2–14 |") == []
    assert differences("| 0.74 |", "| 0.78 |") == [("0.74", "0.78")]
    assert differences("| A100 |", "| H100 |") == [("A100", "H100")]
