"""The tables and columns that others rely on are there, under exactly these names."""

from __future__ import annotations

import pytest

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
