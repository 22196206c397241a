-- One row per log of a result, with the lines that its values were read from.
SELECT
    run.result_id,
    run.round_id,
    run.benchmark,
    run.file,
    run.started_at,
    run.run_min,
    run.is_converged,
    run.convergence_basis,
    run.status_reported,
    run_set.is_kept,
    samples.samples_to_converge,
    samples.epochs_to_converge,
    samples.samples_missing_reason,
    run.quality,
    run.target_reported,
    rule.target,
    run.global_batch_size,
    throughput.throughput_per_s,
    throughput.logged_throughput_per_s,
    throughput.logged_unit,
    throughput.logged_ratio,
    energy.energy_kwh,
    independence.first_seen_round_id,
    independence.first_seen_file,
    independence.is_refiled,
    independence.is_same_round_copy,
    run.fingerprint,
    run.start_line,
    run.stop_line,
    run.quality_line
FROM core.run AS run
JOIN core.result AS result USING (result_id)
JOIN lookup.rule AS rule
    ON result.round_id = rule.round_id AND result.benchmark_folder = rule.benchmark_folder
JOIN metrics.run_samples AS samples USING (result_id, file)
JOIN metrics.run_throughput AS throughput USING (result_id, file)
LEFT JOIN metrics.run_set AS run_set USING (result_id, file)
LEFT JOIN metrics.run_independence AS independence USING (result_id, file)
LEFT JOIN metrics.run_energy AS energy USING (result_id, file)
