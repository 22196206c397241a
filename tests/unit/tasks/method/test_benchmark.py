"""The method's tables as the warehouse gets them: columns, checks, refusals, determinism."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import tasks.method.benchmark
from gpurank.declared.contracts import contract
from gpurank.method.settings import MethodSettings
from tasks.method.tables import MissingInput
from tasks.pool import Each, here, side_by_side

SETTINGS = MethodSettings(
    selection_bootstraps=20, importance_trees=3, matched_permutations=50, cluster_starts=5,
    cluster_bootstraps=5, gap_references=3, cluster_counts=(2, 5), draws=50,
    fleet_bootstraps=5,
)  # fmt: skip
TABLES = [
    contract(f"analysis.{name}")
    for name in (
        "selection", "matched_cpu", "cluster", "cluster_profile", "cluster_count", "ranking",
        "unranked", "sensitivity", "fleet_law", "break_even", "fleet_result", "model_scaling",
        "prediction", "prediction_check",
    )
]  # fmt: skip


def world(configurations: Any) -> pl.DataFrame:
    """A benchmark with enough rows, one with too few, and rows that cannot rank."""
    rng = np.random.default_rng(0)
    size = 60
    count = rng.choice([4, 8, 16, 64, 512], size)
    many = configurations(
        score_min=(rng.lognormal(0, 0.3, size) * 900 / count).tolist(),
        accelerator_count=count.tolist(),
        cores_per_socket=rng.integers(16, 96, size).tolist(),
        accelerator_family=rng.choice(["A", "B"], size).tolist(),
        run_minutes=[[9.0, 10.0, 11.0]] * size,
        round_id=["v1.0", "v2.0"] * (size // 2),
        round_index=[3, 5] * (size // 2),
        is_in_analysis_set=[True] * 55 + [False] * 5,
    )
    few = configurations(
        score_min=[3.0, 2.0, 1.0, 4.0],
        accelerator_count=[8, 8, 0, None],
        benchmark="bert",
        result_id=[f"v1.0/s/few{i}/bert" for i in range(4)],
        is_in_analysis_set=[True, True, False, False],
    )
    return pl.concat([many, few])


def warehouse(
    frame: pl.DataFrame, threads: int = 1, own: MethodSettings = SETTINGS, each: Each = here
) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(config={"threads": threads})
    con.execute("CREATE SCHEMA metrics")
    con.register("incoming", frame.to_arrow())
    con.execute("CREATE TABLE metrics.configuration AS SELECT * FROM incoming")
    con.unregister("incoming")
    tasks.method.benchmark.run_method(con, own, each)
    return con


def test_tables_fit_their_contracts(configurations: Any) -> None:
    con = warehouse(world(configurations))
    for declared in TABLES:
        described = con.execute(f"DESCRIBE {declared.table}").fetchall()
        assert [row[0] for row in described] == [c.name for c in declared.columns]
        blank = " OR ".join(f'"{c.name}" IS NULL' for c in declared.columns if not c.nullable)
        assert con.execute(f"SELECT * FROM {declared.table} WHERE {blank}").fetchall() == []
        key = ", ".join(declared.key)
        twice = f"SELECT {key} FROM {declared.table} GROUP BY {key} HAVING count(*) > 1"
        assert con.execute(twice).fetchall() == [], declared.table
        for check in declared.checks:
            if check.sql:
                assert con.execute(check.sql).fetchall() == [], check.name


def test_a_small_benchmark_is_ranked_and_says_why_no_more(configurations: Any) -> None:
    con = warehouse(world(configurations))

    def rows(query: str) -> list[Any]:
        return con.execute(query).fetchall()

    assert rows("SELECT reason, cluster_label FROM analysis.cluster_profile "
               "WHERE benchmark = 'bert'") == [("2 rows, 30 needed", None)]  # fmt: skip
    assert rows("SELECT DISTINCT dropped_reason FROM analysis.selection "
               "WHERE benchmark = 'bert'") == [("2 rows, 30 needed",)]  # fmt: skip
    assert rows("SELECT scope, rank, delay_cost, cluster_label FROM analysis.ranking "
               "WHERE benchmark = 'bert' ORDER BY 1, 2") == [
        ("pooled", 1, 32.0, None), ("pooled", 2, 48.0, None),
        ("round", 1, 32.0, None), ("round", 2, 48.0, None),
    ]  # fmt: skip
    assert rows("SELECT reason FROM analysis.unranked ORDER BY result_id") == [
        ("no accelerators (host processors only)",), ("accelerator count unknown",)
    ]  # fmt: skip


def test_a_refiled_result_is_labelled_by_the_nearest_cluster(configurations: Any) -> None:
    con = warehouse(world(configurations))
    found = con.execute(
        """SELECT count(*), count(cluster_label) FROM analysis.ranking
           WHERE scope = 'round' AND benchmark = 'resnet'
           AND result_id NOT IN (SELECT result_id FROM analysis.cluster)"""
    ).fetchall()
    assert found == [(5, 5)]


def test_row_order_threads_and_processes_change_no_table(
    configurations: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = world(configurations)
    monkeypatch.setattr(tasks.method.benchmark, "FEW_RESULTS", 0)
    with side_by_side(2) as each:
        shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
        plain, other = warehouse(frame), warehouse(shuffled, 2, each=each)
    for declared in TABLES:
        query = f"SELECT * FROM {declared.table}"
        assert plain.execute(query).fetchall() == other.execute(query).fetchall(), declared.table


def test_without_bootstraps_what_depends_on_them_is_null_and_all_else_the_same(
    configurations: Any,
) -> None:
    frame = world(configurations)
    none = replace(SETTINGS, selection_bootstraps=0, cluster_bootstraps=0, fleet_bootstraps=0)
    full, bare = warehouse(frame), warehouse(frame, own=none)
    depend = {
        "analysis.selection": {"is_selected", "stability", "dropped_reason",
                               "importance_submitter", "importance_family"},
        "analysis.cluster_profile": {"jaccard", "is_count_stable", "count_note"},
        "analysis.cluster_count": {"bootstrap_ari", "jaccard", "jaccard_low", "is_stable"},
        "analysis.fleet_law": {"efficiency_64_low", "efficiency_64_high", "efficiency_512_low",
                               "efficiency_512_high"},
        "analysis.break_even": {"count_low", "count_high"},
    }  # fmt: skip
    for declared in TABLES:
        lost = depend.get(declared.table, set())
        rest = [c.name for c in declared.columns if c.name not in lost | {"bootstrap_count"}]
        query = f"SELECT {', '.join(rest)} FROM {declared.table}"
        assert full.execute(query).fetchall() == bare.execute(query).fetchall(), declared.table
        for check in declared.checks:
            if check.sql:
                assert bare.execute(check.sql).fetchall() == [], check.name
    for name in ("stability", "is_selected"):
        chosen = f"SELECT DISTINCT {name} FROM analysis.selection WHERE selection_order IS NOT NULL"
        assert bare.execute(chosen).fetchall() == [(None,)]
    others = "SELECT DISTINCT is_selected FROM analysis.selection WHERE selection_order IS NULL"
    assert bare.execute(others).fetchall() == [(False,)]
    said = "SELECT DISTINCT dropped_reason FROM analysis.selection WHERE is_selected IS NULL"
    assert bare.execute(said).fetchall() == [
        ("chosen; how stably was not computed (no bootstraps)",)
    ]
    note = "SELECT DISTINCT count_note FROM analysis.cluster_profile WHERE benchmark = 'resnet'"
    assert "not computed (no bootstraps)" in bare.execute(note).fetchall()[0][0]
    words = {"is_selected", "dropped_reason", "count_note"}
    for table, names in depend.items():
        query = f"SELECT {', '.join(f'count({name})' for name in names - words)} FROM {table}"
        (made,), (left,) = full.execute(query).fetchall(), bare.execute(query).fetchall()
        assert min(made) > 0 and set(left) == {0}, table


def test_ranks_within_a_cluster_are_those_of_its_members(configurations: Any) -> None:
    con = warehouse(world(configurations))
    wrong = """
        SELECT * FROM analysis.ranking AS a WHERE cluster_rank IS DISTINCT FROM (
            SELECT CASE WHEN a.cluster_label IS NOT NULL THEN 1 + count(*) END
            FROM analysis.ranking AS b
            WHERE a.scope = b.scope AND a.benchmark = b.benchmark
            AND (a.scope = 'pooled' OR a.round_id = b.round_id)
            AND a.cluster_label = b.cluster_label AND b.rank < a.rank
        )"""
    assert con.execute(wrong).fetchall() == []
    assert con.execute("SELECT max(cluster_rank) FROM analysis.ranking").fetchall()[0][0] > 1


def test_a_missing_input_is_one_clear_error() -> None:
    with pytest.raises(MissingInput, match=r"missing .*build the SQL layers"):
        tasks.method.benchmark.run_method(duckdb.connect(), SETTINGS)
