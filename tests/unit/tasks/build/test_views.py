"""Views under names that a person would guess."""

from __future__ import annotations

import duckdb

from gpurank.declared.contracts import layer_contracts
from tasks.build.load import create_empty
from tasks.build.views import VIEWS, create_views


def test_each_view_reads_and_says_what_it_is() -> None:
    with duckdb.connect() as con:
        create_empty(con, [contract.table for contract in layer_contracts("marts")])
        create_views(con)
        create_views(con)
        for name in VIEWS:
            assert con.execute(f"from {name}").fetchall() == []
        told = con.execute("select view_name, comment from duckdb_views() where not internal")
        comments = dict(told.fetchall())
    assert set(VIEWS) <= set(comments)
    assert all(comments[name] for name in VIEWS)
