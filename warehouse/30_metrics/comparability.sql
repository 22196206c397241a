-- Which rounds of a benchmark may be compared: one row per benchmark and round with a result.
-- A round that no span covers is its own span. The main span has the most scored closed results.
WITH seen AS (
    SELECT
        result.benchmark,
        result.round_id,
        round.round_number,
        count(*) AS result_count,
        count(*) FILTER (score.score_min IS NOT NULL AND result.division = 'closed') AS scored_count
    FROM core.result AS result
    JOIN metrics.score AS score USING (result_id)
    JOIN lookup.round AS round ON result.round_id = round.round_id
    GROUP BY ALL
), placed AS (
    SELECT
        seen.*,
        coalesce(span.span_id, seen.benchmark || ' ' || seen.round_id) AS span_id,
        span.span_id IS NOT NULL AS is_declared,
        span.first_number,
        span.note
    FROM seen
    LEFT JOIN lookup.comparable_span AS span
        ON seen.benchmark = span.benchmark
        AND seen.round_number BETWEEN span.first_number AND span.last_number
), total AS (
    SELECT
        benchmark, span_id, sum(scored_count) AS span_count, max(round_number) AS last_number
    FROM placed
    GROUP BY benchmark, span_id
), main AS (
    SELECT benchmark, arg_max(span_id, {'count': span_count, 'last': last_number}) AS span_id
    FROM total
    GROUP BY benchmark
), broken AS (
    -- A break applies to every later round of its span, not only to the next one.
    SELECT
        placed.benchmark,
        placed.round_id,
        arg_max(soft_break.after_round_id, soft_break.after_number) AS after_round_id,
        string_agg(soft_break.reason, '; ' ORDER BY soft_break.after_number) AS reason
    FROM placed
    JOIN lookup.soft_break AS soft_break
        ON placed.benchmark = soft_break.benchmark
        AND placed.round_number >= soft_break.before_number
        AND placed.first_number <= soft_break.after_number
    GROUP BY placed.benchmark, placed.round_id
)
SELECT
    placed.benchmark,
    placed.round_id,
    placed.span_id,
    placed.is_declared,
    placed.span_id = main.span_id AS is_main_span,
    placed.result_count,
    placed.scored_count,
    placed.note,
    broken.after_round_id AS soft_break_after_round_id,
    broken.reason AS soft_break_reason
FROM placed
JOIN main USING (benchmark)
LEFT JOIN broken
    ON placed.benchmark = broken.benchmark AND placed.round_id = broken.round_id
