-- Energy of a result where it was measured: mean over the runs that the score keeps, unscaled.
-- If one kept run lacks a complete set of power logs, there is no number.
WITH measured AS (
    SELECT DISTINCT result_id FROM metrics.run_energy
), kept AS (
    SELECT
        run_set.result_id,
        count(*) AS kept_count,
        count(energy.energy_kwh) AS measured_count,
        list_sum(list(energy.energy_kwh ORDER BY run_set.place))
            / nullif(count(energy.energy_kwh), 0) AS energy_kwh,
        list_sum(list(energy.total_reported_kwh ORDER BY run_set.place))
            / nullif(count(energy.total_reported_kwh), 0) AS total_reported_kwh,
        list_sum(list(energy.interconnect_estimate_kwh ORDER BY run_set.place))
            / nullif(count(energy.interconnect_estimate_kwh), 0) AS interconnect_estimate_kwh,
        min(energy.energy_missing_reason) AS run_reason
    FROM metrics.run_set AS run_set
    LEFT JOIN metrics.run_energy AS energy USING (result_id, file)
    WHERE run_set.is_kept
    GROUP BY run_set.result_id
)
SELECT
    measured.result_id,
    CASE WHEN score.unscaled_min IS NOT NULL AND kept.measured_count = kept.kept_count
        THEN kept.energy_kwh
    END AS energy_kwh,
    CASE
        WHEN score.unscaled_min IS NULL THEN 'no_score'
        WHEN kept.measured_count < kept.kept_count
            THEN coalesce(kept.run_reason, 'kept_run_without_power_logs')
    END AS energy_missing_reason,
    kept.interconnect_estimate_kwh,
    kept.total_reported_kwh,
    kept.kept_count,
    kept.measured_count
FROM measured
JOIN metrics.score AS score USING (result_id)
LEFT JOIN kept USING (result_id)
