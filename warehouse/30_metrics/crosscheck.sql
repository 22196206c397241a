-- Figures that submissions claim, compared with ours: the throughput in their logs and the energy
-- totals next to their power logs. One row per result and quantity; they agree within lookup.bound.
WITH claim AS (
    SELECT
        result_id,
        file,
        'throughput' AS quantity,
        logged_ratio AS ratio,
        is_logged_consistent AS is_agreeing
    FROM metrics.run_throughput
    WHERE logged_ratio IS NOT NULL

    UNION ALL
    SELECT
        energy.result_id,
        energy.file,
        'energy',
        energy.total_reported_kwh / energy.energy_kwh,
        energy.total_reported_kwh / energy.energy_kwh BETWEEN bound.low AND bound.high
    FROM metrics.run_energy AS energy
    CROSS JOIN (FROM lookup.bound WHERE bound = 'energy_ratio') AS bound
    WHERE energy.total_reported_kwh IS NOT NULL AND energy.energy_kwh > 0
), total AS (
    SELECT
        claim.result_id,
        claim.quantity,
        count(*) AS compared_run_count,
        count(*) FILTER (NOT claim.is_agreeing) AS disagreeing_run_count,
        min(claim.ratio) AS ratio_low,
        max(claim.ratio) AS ratio_high,
        min(claim.ratio) FILTER (NOT claim.is_agreeing) AS off_low,
        max(claim.ratio) FILTER (NOT claim.is_agreeing) AS off_high,
        bool_and(NOT run.is_converged) FILTER (NOT claim.is_agreeing) AS is_off_unconverged
    FROM claim
    JOIN core.run AS run USING (result_id, file)
    GROUP BY claim.result_id, claim.quantity
)
SELECT
    total.result_id,
    total.quantity,
    total.compared_run_count,
    total.disagreeing_run_count,
    total.ratio_low,
    total.ratio_high,
    total.off_low,
    total.off_high,
    CASE
        WHEN total.disagreeing_run_count = 0 THEN NULL
        WHEN total.quantity = 'energy' THEN 'another window or other devices were added up'
        WHEN total.is_off_unconverged THEN 'none of these runs converged'
        WHEN result.accelerator_count > 1 AND total.off_low > 0.9 / result.accelerator_count
            AND total.off_high < 1.1 / result.accelerator_count
            THEN 'fits a figure for one accelerator'
        WHEN result.node_count > 1 AND total.off_low > 0.9 / result.node_count
            AND total.off_high < 1.1 / result.node_count
            THEN 'fits a figure for one node'
        WHEN total.ratio_low > 1.25 AND total.off_high < 1.25 * bound.high
            THEN 'little beyond the limit: start-up and evaluation take most of such a short run'
        WHEN total.disagreeing_run_count < total.compared_run_count
            THEN 'the other runs of the result agree, so these logs are in doubt'
        WHEN total.off_high < 1.1 * total.off_low
            THEN 'the same factor in every run, so the logged figure has another basis'
        ELSE 'in every run, so what is logged is not the rate of the system'
    END AS explanation
FROM total
JOIN core.result AS result USING (result_id)
CROSS JOIN (FROM lookup.bound WHERE bound = 'throughput_ratio') AS bound
