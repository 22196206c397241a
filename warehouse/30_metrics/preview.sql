-- What became of systems filed as previews: whether the same submitter filed the accelerator as
-- available in a later round, at the same count (returned) or only at another (other_scale). A
-- preview announces a system, so any benchmark counts; another column says whether this one was
-- among them. Null while no later round is loaded.
WITH placed AS (
    SELECT result.*, round.round_number
    FROM core.result AS result
    JOIN lookup.round AS round USING (round_id)
), latest AS (
    SELECT max(round_number) AS round_number
    FROM lookup.round
    JOIN raw.round_version USING (round_id)
), followed AS (
    SELECT
        preview.result_id,
        preview.round_number,
        count(*) FILTER (later.accelerator_count = preview.accelerator_count) AS same_count,
        count(later.result_id) AS any_count,
        arg_min(later.round_id, later.round_number)
            FILTER (later.accelerator_count = preview.accelerator_count) AS same_round_id,
        arg_min(later.round_id, later.round_number) AS any_round_id,
        bool_or(later.benchmark = preview.benchmark) AS is_same_benchmark
    FROM placed AS preview
    LEFT JOIN placed AS later
        ON preview.submitter = later.submitter
        AND preview.accelerator = later.accelerator
        AND later.round_number > preview.round_number
        AND later.availability = 'available'
    WHERE preview.availability = 'preview'
    GROUP BY preview.result_id, preview.round_number
)
SELECT
    followed.result_id,
    CASE
        WHEN followed.same_count > 0 THEN 'returned'
        WHEN followed.any_count > 0 THEN 'other_scale'
        WHEN followed.round_number < latest.round_number THEN 'not_seen'
    END AS preview_outcome,
    coalesce(followed.same_round_id, followed.any_round_id) AS outcome_round_id,
    followed.is_same_benchmark
FROM followed
CROSS JOIN latest
