-- May results of these two rounds be compared? One row per benchmark and ordered pair of
-- loaded rounds, each with itself too, so that one join finds the row of any two results.
WITH pair AS (
    SELECT
        one.benchmark,
        one.round_id,
        other.round_id AS other_round_id,
        one.span_id,
        other.span_id AS other_span_id,
        one.span_id = other.span_id AS is_comparable,
        least(round.round_number, other_round.round_number) AS first_number,
        greatest(round.round_number, other_round.round_number) AS last_number,
        concat_ws(
            '; ',
            CASE WHEN NOT one.is_declared
                THEN concat('no comparable span covers ', one.round_id)
            END,
            CASE WHEN NOT other.is_declared
                THEN concat('no comparable span covers ', other.round_id)
            END,
            one.note,
            nullif(other.note, one.note)
        ) AS detail
    FROM metrics.comparability AS one
    JOIN metrics.comparability AS other USING (benchmark)
    JOIN lookup.round AS round ON one.round_id = round.round_id
    JOIN lookup.round AS other_round ON other.round_id = other_round.round_id
), broken AS (
    SELECT
        pair.benchmark,
        pair.round_id,
        pair.other_round_id,
        string_agg(
            concat(
                'soft break between ', soft_break.after_round_id, ' and ',
                soft_break.before_round_id, ': ', soft_break.reason
            ),
            '; ' ORDER BY soft_break.after_number
        ) AS warning
    FROM pair
    JOIN lookup.soft_break AS soft_break
        ON pair.benchmark = soft_break.benchmark
        AND pair.first_number <= soft_break.after_number
        AND pair.last_number >= soft_break.before_number
    WHERE pair.is_comparable
    GROUP BY pair.benchmark, pair.round_id, pair.other_round_id
)
SELECT
    pair.benchmark,
    pair.round_id,
    pair.other_round_id,
    pair.is_comparable,
    CASE WHEN NOT pair.is_comparable
        THEN concat(
            pair.benchmark, ' of ', pair.round_id, ' and of ', pair.other_round_id,
            ' may not be compared: they lie in different comparable spans, ', pair.span_id,
            ' and ', pair.other_span_id, coalesce(' (' || nullif(pair.detail, '') || ')', '')
        )
    END AS reason,
    broken.warning,
    pair.span_id,
    pair.other_span_id
FROM pair
LEFT JOIN broken
    ON pair.benchmark = broken.benchmark
    AND pair.round_id = broken.round_id
    AND pair.other_round_id = broken.other_round_id
