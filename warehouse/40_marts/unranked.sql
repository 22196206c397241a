-- Results that a ranking leaves out, each with its reason: its own round's list, and the
-- pooled one, which takes each measurement once and one comparable span only.
WITH own AS (
    SELECT
        result.result_id,
        coalesce(unranked.reason, 'no score: ' || result.score_missing_reason) AS reason
    FROM marts.result AS result
    LEFT JOIN analysis.unranked AS unranked USING (result_id)
    WHERE unranked.result_id IS NOT NULL OR result.score_min IS NULL
), ranked AS (
    SELECT DISTINCT result_id FROM analysis.ranking WHERE scope = 'pooled'
)
SELECT 'round' AS scope, result.result_id, result.round_id, result.benchmark, own.reason
FROM own
JOIN marts.result AS result USING (result_id)

UNION ALL
SELECT
    'pooled' AS scope,
    result.result_id,
    result.round_id,
    result.benchmark,
    CASE
        WHEN own.reason IS NOT NULL THEN own.reason
        WHEN NOT span.is_main_span
            THEN concat('not comparable with most of its benchmark: ', span.span_id)
        WHEN NOT result.is_independent
            THEN concat('same measurement as ', result.first_seen_result_id)
        ELSE 'not in the analysis set'
    END AS reason
FROM marts.result AS result
JOIN metrics.comparability AS span USING (benchmark, round_id)
LEFT JOIN own USING (result_id)
LEFT JOIN ranked USING (result_id)
WHERE ranked.result_id IS NULL
