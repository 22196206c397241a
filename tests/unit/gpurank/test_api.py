"""The tables and columns that others rely on are there, under exactly these names."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import gpurank
from gpurank.declared.contracts import contract

INTERFACE = {
    "marts.result": """
        round_id submitter_folder system_folder benchmark_folder result_id benchmark division
        availability is_on_premises submitter system_name accelerator accelerator_vendor
        accelerator_count node_count host_cpu framework score_min score_missing_reason unscaled_min
        scaling_factor run_count converged_run_count required_run_count accelerator_minutes
        throughput_per_s throughput_per_accelerator_per_s speedup scaling_efficiency
        first_seen_round_id is_independent energy_kwh worst_issue source_commit version_id""",
    "marts.run": """
        result_id file started_at run_min is_converged samples_to_converge quality
        logged_throughput_per_s""",
    "marts.issue": "round_id level kind message source_file line_number",
    "marts.quarantine": "round_id folder_id reason",
    "marts.ranking": """
        scope round_id benchmark rank tie_group result_id score_min accelerator_count
        accelerator_minutes delay_cost lambda_chips cluster_label""",
    "marts.cluster": "benchmark result_id cluster_label",
    "marts.cluster_profile": """
        benchmark cluster_label name member_count median_score_min median_accelerator_count
        median_accelerator_minutes share_4_to_16 leading_families""",
    "marts.selection": """
        benchmark target variable group_id is_selected selection_order partial_correlation
        stability""",
    "marts.round_summary": "round_id folder_count result_count quarantined_count",
    "marts.data_quality": "round_id topic name row_count example",
    "marts.comparison": "benchmark round_id other_round_id is_comparable reason warning",
    "marts.convergence": """
        result_id run_count converged_run_count required_run_count target quality_min
        quality_median global_batch_size samples_to_converge is_reference_check_bypassed
        preview_outcome""",
}


@pytest.mark.parametrize("table", INTERFACE)
def test_columns_that_others_rely_on(table: str) -> None:
    assert set(INTERFACE[table].split()) <= {column.name for column in contract(table).columns}


# Commands that ask the warehouse; `report`, `export` and those that build are no questions.
QUESTIONS = ("top", "clusters", "why", "query", "choose", "compare", "mine", "rounds")


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_interface_has_the_names_of_the_commands(name: str) -> None:
    assert name in gpurank.__all__
    assert callable(getattr(gpurank, name))


def test_the_old_name_of_the_ranking_still_works() -> None:
    assert gpurank.rank is gpurank.top


def test_a_query_returns_a_frame_and_only_reads(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as connection:
        connection.execute("create table thing as select 1 as a, 'x' as b")
    frame = gpurank.query("select b, a + 1 as next from thing", home=tmp_path)
    assert frame.to_dicts() == [{"b": "x", "next": 2}]
    for sql in ("selekt 1", "drop table thing", "", "from read_csv('/etc/passwd')"):
        with pytest.raises(gpurank.QueryError):
            gpurank.query(sql, home=tmp_path)
    with pytest.raises(gpurank.NoData):
        gpurank.query("select 1", home=tmp_path / "empty")
