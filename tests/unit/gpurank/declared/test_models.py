"""Models: what a SELECT reads, the order of running, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpurank.declared.models import (
    ModelError,
    all_models,
    layers,
    read_models,
    sort_models,
    tables_read,
)


def warehouse(folder: Path, files: dict[str, str]) -> Path:
    for name, sql in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(sql)
    return folder


def ordered(folder: Path, files: dict[str, str]) -> list[str]:
    return [model.table for model in sort_models(read_models(warehouse(folder, files)))]


def test_tables_are_found_in_joins_subqueries_and_unions_but_not_common_table_expressions() -> None:
    sql = """
        WITH a AS (SELECT * FROM raw.run)
        SELECT a.x FROM a JOIN core.z AS b USING (k)
        WHERE x IN (SELECT q FROM lookup.p) UNION ALL (FROM metrics.m SELECT x)
    """
    assert tables_read(sql, "here") == {"raw.run", "core.z", "lookup.p", "metrics.m"}


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", "not one readable SELECT"),
        ("CREATE TABLE a AS SELECT 1", "not one readable SELECT"),
        ("SELECT 1; SELECT 2", "holds 2 statements"),
        ("SELECT * FROM run", "without a schema"),
    ],
)
def test_what_is_not_one_select_over_full_names_is_refused(sql: str, message: str) -> None:
    with pytest.raises(ModelError, match=f"10_staging/x.sql.*{message}"):
        tables_read(sql, "10_staging/x.sql")


def test_a_model_stands_after_all_it_reads_and_layers_follow_their_numbers(tmp_path: Path) -> None:
    order = ordered(
        tmp_path,
        {
            "20_core/a.sql": "SELECT * FROM core.c",
            "20_core/b.sql": "SELECT * FROM staging.z",
            "20_core/c.sql": "SELECT * FROM core.b",
            "10_staging/z.sql": "SELECT * FROM raw.run",
            "lookups/no.sql": "not a model",
        },
    )
    assert order == ["staging.z", "core.b", "core.c", "core.a"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"20_core/a.sql": "FROM core.b", "20_core/b.sql": "FROM core.a"},
            "in a circle: core.* > core.*",
        ),
        ({"20_core/a.sql": "FROM core.a"}, "in a circle"),
        (
            {"10_staging/a.sql": "FROM core.b", "20_core/b.sql": "SELECT 1"},
            "staging.a reads core.b of the later layer core",
        ),
        ({"10_staging/a.sql": "FROM core.nowhere"}, "reads core.nowhere, which no model makes"),
        ({"10_core/a.sql": "SELECT 1", "20_core/a.sql": "SELECT 1"}, "core.a is defined twice"),
    ],
)
def test_an_impossible_order_is_refused_by_name(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        ordered(tmp_path, files)


def test_the_packages_models_say_what_they_are() -> None:
    assert layers() == ("staging", "core", "metrics", "marts")
    assert all(model.doc for model in all_models())
