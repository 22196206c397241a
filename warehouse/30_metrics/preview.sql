-- What became of systems filed as previews: whether the same submitter filed the benchmark on the
-- same accelerator as available in a later round, at the same count (returned) or another
-- (other_scale). Null while no later round is loaded.
WITH later AS (
    SELECT
        preview.result_id,
        count(*) FILTER (later.accelerator_count = preview.accelerator_count) AS same_count,
        count(later.result_id) AS any_count
    FROM core.result AS preview
    JOIN lookup.round AS round USING (round_id)
    LEFT JOIN (
        SELECT result.*, round.round_number
        FROM core.result AS result
        JOIN lookup.round AS round USING (round_id)
    ) AS later
        ON preview.submitter = later.submitter
        AND preview.benchmark = later.benchmark
        AND preview.accelerator = later.accelerator
        AND later.round_number > round.round_number
        AND later.availability = 'available'
    WHERE preview.availability = 'preview'
    GROUP BY preview.result_id
)
SELECT
    later.result_id,
    CASE
        WHEN later.same_count > 0 THEN 'returned'
        WHEN later.any_count > 0 THEN 'other_scale'
        WHEN round.round_number < latest.round_number THEN 'not_seen'
    END AS preview_outcome
FROM later
JOIN core.result AS result USING (result_id)
JOIN lookup.round AS round ON result.round_id = round.round_id
CROSS JOIN (
    SELECT max(round_number) AS round_number
    FROM lookup.round
    JOIN raw.round_version USING (round_id)
) AS latest
