-- Which entry of a list is the single best at each price of waiting.
SELECT
    ranking.scope,
    CASE WHEN ranking.scope = 'round' THEN ranking.round_id END AS list_round_id,
    ranking.benchmark,
    ranking.best_for_lambda_low AS lambda_low,
    ranking.best_for_lambda_high AS lambda_high,
    ranking.result_id,
    ranking.round_id,
    result.submitter,
    result.system_name,
    result.accelerator,
    ranking.accelerator_count,
    ranking.score_min,
    ranking.accelerator_minutes,
    result.availability
FROM analysis.ranking AS ranking
JOIN marts.result AS result USING (result_id)
WHERE ranking.best_for_lambda_low IS NOT NULL
