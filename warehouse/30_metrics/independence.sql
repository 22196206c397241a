-- Whether a result is an independent measurement. Fits use independent results only; the list of
-- a round keeps results resubmitted from earlier rounds and drops copies within the round.
WITH run_total AS (
    SELECT
        result_id,
        count(*) FILTER (is_refiled) AS refiled_run_count,
        count(*) FILTER (is_same_round_copy AND NOT is_repeated_in_result) AS copied_run_count,
        count(*) FILTER (is_repeated_in_result) AS repeated_run_count
    FROM metrics.run_independence
    GROUP BY result_id
)
SELECT
    result.result_id,
    measurement.run_hash,
    measurement.first_seen_round_id,
    measurement.first_seen_result_id,
    measurement.first_seen_result_id = result.result_id AS is_independent,
    measurement.place_in_round > 1 AS is_same_round_copy,
    measurement.first_seen_round_id <> result.round_id AS is_refiled,
    coalesce(run_total.refiled_run_count, 0) AS refiled_run_count,
    coalesce(run_total.copied_run_count, 0) AS copied_run_count,
    coalesce(run_total.repeated_run_count, 0) AS repeated_run_count
FROM core.result AS result
JOIN metrics.measurement AS measurement USING (result_id)
LEFT JOIN run_total USING (result_id)
