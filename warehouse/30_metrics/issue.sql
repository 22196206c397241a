-- What the metrics found: results without a score or a throughput, logged figures that disagree,
-- measurements that were submitted before.
WITH finding AS (
    SELECT result_id, 'error' AS level, 'score_missing' AS kind, score_missing_reason AS detail
    FROM metrics.score
    WHERE score_missing_reason IS NOT NULL

    UNION ALL
    SELECT
        result_id, 'warning', 'run_set_incomplete',
        concat(run_count, ' of ', required_run_count, ' logs; scored from those')
    FROM metrics.score
    WHERE score_min IS NOT NULL AND NOT is_complete_run_set

    UNION ALL
    SELECT result_id, 'info', 'throughput_missing', throughput_missing_reason
    FROM metrics.throughput
    WHERE throughput_missing_reason <> 'no_score'

    UNION ALL
    SELECT
        result_id, 'warning',
        CASE quantity WHEN 'energy' THEN 'energy_total_disagrees' ELSE 'logged_throughput_disagrees' END,
        printf(
            'claims of %d of %d runs are %.2f (to %.2f) times the derived %s: %s',
            disagreeing_run_count, compared_run_count, off_low, off_high, quantity, explanation
        )
    FROM metrics.crosscheck
    WHERE disagreeing_run_count > 0

    UNION ALL
    SELECT result_id, 'info', 'checker_params', concat('package_checker_params says: ', checker_params)
    FROM core.result
    WHERE checker_params IS NOT NULL

    UNION ALL
    SELECT
        result_id, 'warning', 'run_repeated_in_result',
        concat(repeated_run_count, ' runs are the same measurement as another of this result')
    FROM metrics.independence
    WHERE repeated_run_count > 0

    UNION ALL
    SELECT
        result_id, 'warning', 'runs_partly_filed_before',
        concat(refiled_run_count, ' runs refiled, ', copied_run_count, ' copied; the rest are its own')
    FROM metrics.independence
    WHERE is_independent AND refiled_run_count + copied_run_count > 0

    UNION ALL
    SELECT result_id, 'warning', kind, detail
    FROM metrics.run_agreement

    UNION ALL
    SELECT result_id, 'info', 'copy_inside_round', concat('same runs as ', first_seen_result_id)
    FROM metrics.independence
    WHERE is_same_round_copy

    UNION ALL
    SELECT result_id, 'info', 'refiled', concat('same runs as ', first_seen_result_id)
    FROM metrics.independence
    WHERE is_refiled AND NOT is_same_round_copy

    UNION ALL
    SELECT result_id, 'warning', 'energy_missing', energy_missing_reason
    FROM metrics.energy
    WHERE energy_missing_reason IS NOT NULL
)
SELECT
    result.round_id,
    finding.level,
    finding.kind,
    finding.detail AS message,
    result.folder_id AS source_file,
    NULL::INTEGER AS line_number,
    finding.result_id
FROM finding
JOIN core.result AS result USING (result_id)
