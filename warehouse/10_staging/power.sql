-- Power logs: mean power after the supply over each log's own window. Power in a log without a
-- conversion efficiency is taken as measured there. A submitted estimate is not a measurement.
SELECT
    power.round_id,
    power.folder_id,
    power.path,
    power.run_stem,
    power.device_kind,
    power.window_s,
    power.energy_j,
    power.conversion_efficiency AS conversion_efficiency_reported,
    coalesce(power.conversion_efficiency, 1) AS conversion_efficiency,
    CASE WHEN power.window_s > 0
        THEN coalesce(power.conversion_efficiency, 1) * power.energy_j / power.window_s
    END AS mean_power_w,
    power.interconnect_power_w AS estimated_power_w,
    power.reading_count
FROM raw.power AS power
