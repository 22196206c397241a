-- Figures that submissions claim, compared with ours, and why they disagree where they do.
SELECT
    crosscheck.result_id, result.round_id, result.benchmark, crosscheck.quantity,
    crosscheck.compared_run_count, crosscheck.disagreeing_run_count, crosscheck.ratio_low,
    crosscheck.ratio_high, crosscheck.explanation
FROM metrics.crosscheck AS crosscheck
JOIN core.result AS result USING (result_id)
