-- Runs of one result that do not agree: one row per finding. A damaged time or a log of another
-- system is well-formed, and shows only in comparison with the result's other runs, whose time per
-- counted sample, step or epoch is nearly the same.
WITH paced AS (
    SELECT
        result_id,
        file,
        CASE
            WHEN samples_count > 0 THEN 'sample'
            WHEN step_num > 0 THEN 'step'
            WHEN epoch_num > 0 THEN 'epoch'
        END AS unit,
        run_min / CASE unit
            WHEN 'sample' THEN samples_count WHEN 'step' THEN step_num ELSE epoch_num
        END AS pace
    FROM core.run
    WHERE is_converged AND run_min IS NOT NULL AND unit IS NOT NULL
), beside AS (
    SELECT
        *,
        pace / median(pace) OVER siblings AS pace_ratio,
        count(*) OVER siblings AS sibling_count
    FROM paced
    WINDOW siblings AS (PARTITION BY result_id, unit)
)
SELECT
    result_id,
    file,
    'run_pace_unlike_others' AS kind,
    printf('%s took %.2f times as long for each %s as its siblings', file, pace_ratio, unit) AS detail
FROM beside
JOIN lookup.bound AS bound ON bound.bound = 'run_pace_ratio'
WHERE sibling_count >= 3 AND pace_ratio NOT BETWEEN bound.low AND bound.high

UNION ALL
SELECT
    result_id,
    NULL,
    'runs_of_several_batches',
    concat('its logs name global batch sizes ', string_agg(DISTINCT global_batch_size, ', ' ORDER BY global_batch_size))
FROM core.run
GROUP BY result_id
HAVING count(DISTINCT global_batch_size) > 1

UNION ALL
SELECT
    result_id,
    NULL,
    'runs_of_several_platforms',
    concat('its logs name platforms ', string_agg(DISTINCT platform_reported, ', ' ORDER BY platform_reported))
FROM core.run
GROUP BY result_id
HAVING count(DISTINCT platform_reported) > 1
