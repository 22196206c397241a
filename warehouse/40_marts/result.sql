-- One row per result folder: who submitted what on which system, how long training took, and
-- everything derived from it.
SELECT
    result.round_id,
    result.submitter_folder,
    result.system_folder,
    result.round_folder AS benchmark_folder,
    result.result_id,
    result.benchmark,
    result.division,
    result.availability,
    result.is_on_premises,
    result.submitter,
    result.system_name,
    result.accelerator,
    result.accelerator_reported,
    result.accelerator_vendor,
    result.accelerator_family,
    result.accelerator_count,
    result.node_count,
    result.host_cpu,
    result.framework,
    score.score_min,
    score.score_missing_reason,
    score.unscaled_min,
    score.scaling_factor,
    score.run_count,
    score.converged_run_count,
    score.required_run_count,
    score.is_complete_run_set,
    nullif(result.accelerator_count, 0) * score.score_min AS accelerator_minutes,
    throughput.throughput_per_s,
    throughput.throughput_per_accelerator_per_s,
    throughput.throughput_missing_reason,
    throughput.logged_throughput_per_s,
    throughput.logged_ratio,
    throughput.samples_to_converge,
    throughput.epochs_to_converge,
    convergence.steps_to_converge,
    convergence.global_batch_size,
    convergence.target,
    convergence.quality_median,
    convergence.is_reference_check_bypassed,
    ladder.base_result_id AS ladder_base_result_id,
    ladder.speedup,
    ladder.scaling_efficiency,
    ladder.waiting_factor,
    ladder.epoch_factor,
    independence.first_seen_round_id,
    independence.first_seen_result_id,
    independence.is_independent,
    independence.is_same_round_copy,
    span.span_id,
    span.soft_break_reason,
    energy.energy_kwh,
    energy.energy_missing_reason,
    preview.preview_outcome,
    worst.level || ': ' || worst.kind AS worst_issue,
    coalesce(worst.issue_count, 0) AS issue_count,
    result.source_commit,
    result.version_id,
    version.valid_from
FROM core.result AS result
JOIN metrics.score AS score USING (result_id)
JOIN metrics.throughput AS throughput USING (result_id)
JOIN metrics.convergence AS convergence USING (result_id)
JOIN metrics.independence AS independence USING (result_id)
JOIN metrics.comparability AS span USING (benchmark, round_id)
LEFT JOIN raw.round_version AS version USING (round_id)
LEFT JOIN metrics.ladder AS ladder USING (result_id)
LEFT JOIN metrics.energy AS energy USING (result_id)
LEFT JOIN metrics.preview AS preview USING (result_id)
LEFT JOIN metrics.worst_issue AS worst USING (result_id)
