"""Published tables: a mart that shows one lower table is a view of it."""

from __future__ import annotations

import duckdb
import pytest

from gpurank.declared.contracts import contract, contracts
from gpurank.declared.models import all_models
from tasks.build.load import create_empty
from tasks.build.models import ModelRunError, create_view

VIEWS = [model for model in all_models() if model.is_view]


@pytest.mark.parametrize("table", [model.table for model in VIEWS])
def test_a_view_has_the_columns_of_its_contract_and_run_id(table: str) -> None:
    (model,) = (model for model in VIEWS if model.table == table)
    with duckdb.connect() as con:
        create_empty(con, [each.table for each in contracts() if each.shows is None])
        con.execute(f"alter table {contract(table).shows} add column run_id varchar")
        create_view(con, model)
        names = [name for name, *_ in con.execute(f"describe {table}").fetchall()]
        (comment,) = con.execute(
            "select comment from duckdb_views() where schema_name || '.' || view_name = ?", [table]
        ).fetchall()
    assert names == [*contract(table).column_names, "run_id"]
    assert comment == (contract(table).doc,)


def test_a_view_shows_the_rows_of_its_table_sorted_by_its_key() -> None:
    (model,) = (model for model in VIEWS if model.table == "marts.comparison")
    with duckdb.connect() as con:
        create_empty(con, ["metrics.comparison"])
        con.execute(
            "insert into metrics.comparison (benchmark, round_id, other_round_id) "
            "values ('b', 'v4.0', 'v4.0'), ('a', 'v5.0', 'v4.0'), ('a', 'v4.0', 'v5.0')"
        )
        create_view(con, model)
        rows = con.execute("select benchmark, round_id from marts.comparison").fetchall()
    assert rows == [("a", "v4.0"), ("a", "v5.0"), ("b", "v4.0")]


def test_a_view_of_a_table_that_is_not_there_is_refused_by_name() -> None:
    with duckdb.connect() as con, pytest.raises(ModelRunError, match=r"marts\.change"):
        con.execute("create schema analysis")
        create_view(con, next(model for model in VIEWS if model.table == "marts.change"))
