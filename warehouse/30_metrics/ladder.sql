-- Clean ladders: results of one round, benchmark, division, submitter, accelerator and software at
-- different accelerator counts, against the smallest. efficiency = accelerator-minutes of the base
-- over its own = (throughput per accelerator over the base's: chips that wait) x (scaled samples of
-- the base over its own: extra epochs of a larger batch). Copies within a round are left out.
WITH member AS (
    SELECT
        result.result_id,
        concat_ws(
            ' | ',
            result.round_id, result.benchmark, result.division, result.submitter,
            result.accelerator, result.software
        ) AS ladder_id,
        score.score_min,
        result.accelerator_count,
        result.accelerator_count * score.score_min AS accelerator_minutes,
        throughput.throughput_per_accelerator_per_s AS rate,
        throughput.scaled_samples_to_converge AS samples
    FROM core.result AS result
    JOIN metrics.score AS score USING (result_id)
    JOIN metrics.independence AS independence USING (result_id)
    JOIN metrics.throughput AS throughput USING (result_id)
    WHERE
        score.score_min IS NOT NULL
        AND result.accelerator_count > 0
        AND result.submitter IS NOT NULL
        AND result.accelerator IS NOT NULL
        AND result.software IS NOT NULL
        AND NOT independence.is_same_round_copy
), based AS (
    SELECT
        *,
        first_value(result_id) OVER rung AS base_result_id,
        first_value(accelerator_count) OVER rung AS base_accelerator_count,
        first_value(score_min) OVER rung AS base_score_min,
        first_value(accelerator_minutes) OVER rung AS base_accelerator_minutes,
        first_value(rate) OVER rung AS base_rate,
        first_value(samples) OVER rung AS base_samples,
        max(accelerator_count) OVER (PARTITION BY ladder_id) AS top_accelerator_count,
        count(*) OVER (PARTITION BY ladder_id) AS member_count
    FROM member
    WINDOW rung AS (
        PARTITION BY ladder_id ORDER BY accelerator_count, score_min, result_id
    )
)
SELECT
    ladder_id,
    result_id,
    base_result_id,
    base_accelerator_count,
    accelerator_count,
    member_count,
    base_score_min / score_min AS speedup,
    base_accelerator_minutes / accelerator_minutes AS scaling_efficiency,
    rate / base_rate AS waiting_factor,
    base_samples / samples AS epoch_factor
FROM based
WHERE top_accelerator_count > base_accelerator_count
