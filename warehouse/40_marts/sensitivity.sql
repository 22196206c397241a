-- What other multi-criteria methods rank first, and how often they reverse, compared with ours.
SELECT
    sensitivity.scope, sensitivity.round_id, sensitivity.benchmark, sensitivity.method,
    sensitivity.entry_count, sensitivity.first_result_id, result.submitter AS first_submitter,
    result.accelerator AS first_accelerator,
    result.accelerator_count AS first_accelerator_count, sensitivity.first_count,
    sensitivity.first_rank, sensitivity.rank_correlation, sensitivity.reversal_rate,
    sensitivity.first_reversal_rate, sensitivity.time_weight
FROM analysis.sensitivity AS sensitivity
JOIN marts.result AS result ON sensitivity.first_result_id = result.result_id
