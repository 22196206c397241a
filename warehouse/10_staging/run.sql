-- Runs as read from their logs, with the declared corrections applied and times in minutes.
WITH correction AS (
    SELECT
        round_id,
        path,
        string_agg(correction_id, ', ' ORDER BY correction_id) AS correction_ids,
        bool_or(column_name = 'duration_ms') AS is_duration_corrected,
        max(TRY_CAST(value AS DOUBLE)) FILTER (column_name = 'duration_ms') AS duration_ms,
        bool_or(column_name = 'is_converged') AS is_outcome_corrected,
        bool_or(TRY_CAST(value AS BOOLEAN)) FILTER (column_name = 'is_converged') AS is_converged
    FROM lookup.correction
    WHERE table_name = 'raw.run' AND action IN ('replace', 'set_null')
    GROUP BY round_id, path
)
SELECT
    run.* EXCLUDE (duration_ms, is_converged),
    -- A clock that cannot be an absolute time still measures differences correctly.
    CASE
        WHEN run.start_ms BETWEEN bound.low AND bound.high
            THEN make_timestamp((round(run.start_ms) * 1000)::BIGINT)
    END AS started_at,
    CASE
        WHEN correction.is_duration_corrected THEN correction.duration_ms
        ELSE run.duration_ms
    END / 60000 AS run_min,
    CASE
        WHEN correction.is_outcome_corrected THEN coalesce(correction.is_converged, FALSE)
        ELSE run.is_converged
    END AS is_converged,
    correction.correction_ids
FROM raw.run AS run
LEFT JOIN correction USING (round_id, path)
CROSS JOIN (FROM lookup.bound WHERE bound = 'plausible_time_ms') AS bound
