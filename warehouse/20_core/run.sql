-- One row per log of a result: its time, its outcome, and its convergence counters as submitted.
SELECT
    folder.result_id,
    run.round_id,
    folder.benchmark,
    run.path AS file,
    -- The submission's own order of its runs.
    row_number() OVER (
        PARTITION BY folder.result_id ORDER BY run.run_number ASC NULLS LAST, run.path
    ) AS run_order,
    run.started_at,
    run.run_min,
    run.is_converged,
    run.convergence_basis,
    run.status_reported,
    run.quality,
    run.target_reported,
    run.start_ms,
    run.epoch_num,
    run.first_epoch_num,
    run.samples_count,
    run.step_num,
    run.global_batch_size,
    run.gradient_accumulation_steps,
    run.max_sequence_length,
    run.train_samples,
    run.input_size,
    run.logged_throughput_per_s,
    run.logged_step_time_s,
    run.platform_reported,
    run.division_reported,
    run.fingerprint,
    run.record_count,
    run.undecodable_count,
    run.start_line,
    run.stop_line,
    run.quality_line,
    run.correction_ids
FROM staging.run AS run
JOIN staging.folder AS folder USING (round_id, folder_id)
WHERE folder.quarantine_reason IS NULL
