-- Energy of a run: the mean power of each of its logs over that log's own window, times the run's
-- time. Readings are never clipped to the run's window, because the clocks do not agree. Only
-- readings count; a submitted estimate of the interconnect and the submitter's total have columns
-- of their own.
WITH device AS (
    SELECT
        round_id,
        folder_id,
        run_stem,
        list_sum(list(mean_power_w ORDER BY path) FILTER (device_kind <> 'total')) AS mean_power_w,
        count(*) FILTER (device_kind = 'node') AS node_log_count,
        count(*) FILTER (device_kind = 'switch') AS switch_log_count,
        count(*) FILTER (device_kind <> 'total' AND mean_power_w IS NULL
            AND estimated_power_w IS NULL) AS unreadable_log_count,
        list_sum(list(estimated_power_w ORDER BY path)) AS estimated_power_w,
        -- If a run has several stated totals, it is unclear which one counts.
        CASE WHEN count(*) FILTER (device_kind = 'total') = 1
            THEN max(energy_j) FILTER (device_kind = 'total')
        END AS total_j
    FROM staging.power
    GROUP BY round_id, folder_id, run_stem
), joined AS (
    SELECT
        run.result_id,
        run.file,
        run.run_min,
        device.*,
        CASE
            WHEN run.run_min IS NULL THEN 'no_run_time'
            WHEN device.unreadable_log_count > 0 THEN 'power_log_unreadable'
            WHEN device.node_log_count = 0 THEN 'no_node_power_log'
            WHEN device.node_log_count < result.node_count THEN 'node_power_log_missing'
            WHEN device.mean_power_w IS NULL THEN 'power_log_unreadable'
        END AS energy_missing_reason
    FROM device
    JOIN core.result AS result USING (round_id, folder_id)
    JOIN core.run AS run
        ON result.result_id = run.result_id
        AND device.run_stem = parse_filename(run.file, TRUE)
)
SELECT
    result_id,
    file,
    CASE WHEN energy_missing_reason IS NULL
        THEN mean_power_w * run_min * 60 / 3.6e6::DOUBLE
    END AS energy_kwh,
    energy_missing_reason,
    mean_power_w,
    node_log_count,
    switch_log_count,
    estimated_power_w * run_min * 60 / 3.6e6::DOUBLE AS interconnect_estimate_kwh,
    total_j / 3.6e6::DOUBLE AS total_reported_kwh
FROM joined
