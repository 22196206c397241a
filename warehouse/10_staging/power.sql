-- Power logs: average power behind the supply over each log's own window.
-- A log that states no conversion efficiency counts as measured where it is drawn.
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
    CASE
        WHEN power.window_s > 0 AND power.energy_j IS NOT NULL
            THEN coalesce(power.conversion_efficiency, 1) * power.energy_j / power.window_s
        ELSE power.interconnect_power_w
    END AS mean_power_w,
    power.reading_count
FROM raw.power AS power
