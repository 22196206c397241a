"""The tables of a page are made anew where the page asks for them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tools.docs import method_tables as method
from tools.docs.method_tables import PageError, PageTable

TABLE = PageTable(
    ("name", "count", "share", "whole", "is it"),
    "select * from (values ('a', 1234, 0.126, 12345.6::double, true), "
    "('b', null, null, null, false)) order by 1",
    (None, None, 2, None, None),
)
PAGE = "before\n<!-- table: small -->\nold\n<!-- end -->\nafter\n"
MADE = (
    "| name | count | share | whole | is it |\n| --- | --- | --- | --- | --- |\n"
    "| a | 1,234 | 0.13 | 12,346 | yes |\n| b | – | – | – | no |\n"
)


@pytest.fixture(autouse=True)
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "TABLES", {"small": TABLE})


def test_a_table_as_markdown() -> None:
    with duckdb.connect() as con:
        assert method.table_text(con, "small") == MADE
        assert method.rewrite_tables(PAGE, con) == PAGE.replace("old\n", MADE)
        with pytest.raises(PageError, match="no table is called 'large'; there are small"):
            method.rewrite_tables(PAGE.replace("small", "large"), con)
    assert method.blocks(PAGE) == {"small": "old\n"}


def test_a_page_is_rewritten_from_the_warehouse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path))
    duckdb.connect(str(tmp_path / "warehouse.duckdb")).close()
    page = tmp_path / "method.md"
    page.write_text(PAGE, encoding="utf-8")
    assert method.main([str(page)]) == 0
    assert page.read_text(encoding="utf-8") == PAGE.replace("old\n", MADE)
