-- Each result compared with the fleet law fitted without it; an outlier is worth checking.
SELECT
    fleet.benchmark, fleet.result_id, result.round_id, result.submitter, result.system_name,
    result.accelerator, result.accelerator_count, result.score_min, result.accelerator_minutes,
    fleet.fleet_efficiency, fleet.expected_minutes, fleet.log_residual, fleet.z, fleet.is_outlier
FROM analysis.fleet_result AS fleet
JOIN marts.result AS result USING (result_id)
