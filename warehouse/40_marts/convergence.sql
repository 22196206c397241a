-- How each result converged and what it claims about that: runs, target and quality, batch and
-- steps, the reference check, and what became of a preview.
SELECT
    convergence.result_id,
    result.round_id,
    result.benchmark,
    result.availability,
    convergence.run_count,
    convergence.converged_run_count,
    convergence.nonconverged_run_count,
    convergence.required_run_count,
    convergence.max_nonconverged_count,
    convergence.convergence_basis,
    convergence.metric,
    convergence.direction,
    convergence.target,
    convergence.target_second,
    convergence.kept_run_count,
    convergence.quality_run_count,
    convergence.quality_min,
    convergence.quality_median,
    convergence.quality_max,
    convergence.quality_worst,
    convergence.global_batch_size,
    convergence.samples_to_converge,
    convergence.epochs_to_converge,
    convergence.steps_to_converge,
    convergence.checker_params,
    convergence.is_reference_check_bypassed,
    preview.preview_outcome,
    preview.outcome_round_id AS preview_outcome_round_id,
    preview.is_same_benchmark AS is_preview_followed_in_benchmark
FROM metrics.convergence AS convergence
JOIN core.result AS result USING (result_id)
LEFT JOIN metrics.preview AS preview USING (result_id)
