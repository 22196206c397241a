-- Gains of an accelerator generation: the fastest entry with 8 accelerators of each family in
-- one round, compared with the previous family of the same maker and form, with the software of
-- the same round.
WITH best AS (
    SELECT
        entry.benchmark, entry.round_id, result.accelerator_vendor, entry.is_socketed,
        entry.accelerator_family, entry.accelerator, entry.accelerator_launch_year,
        entry.result_id, entry.score_min
    FROM metrics.configuration AS entry
    JOIN core.result AS result USING (result_id)
    WHERE
        entry.is_in_round_list AND entry.accelerator_count = 8
        AND entry.accelerator_family IS NOT NULL AND entry.accelerator_launch_year IS NOT NULL
        AND entry.is_socketed IS NOT NULL AND result.accelerator_vendor IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY
            entry.benchmark, entry.round_id, result.accelerator_vendor, entry.is_socketed,
            entry.accelerator_family
        ORDER BY entry.score_min, entry.result_id
    ) = 1
)
SELECT
    best.benchmark, best.round_id, best.accelerator_vendor, best.is_socketed,
    best.accelerator_family, best.accelerator, best.accelerator_launch_year, best.result_id,
    best.score_min,
    former.accelerator_family AS previous_family,
    former.accelerator_launch_year AS previous_launch_year,
    former.result_id AS previous_result_id,
    former.score_min AS previous_score_min,
    former.score_min / best.score_min AS speedup,
    pow(
        former.score_min / best.score_min,
        1.0 / (best.accelerator_launch_year - former.accelerator_launch_year)
    )::DOUBLE AS yearly_speedup
FROM best
LEFT JOIN best AS former
    ON best.benchmark = former.benchmark
    AND best.round_id = former.round_id
    AND best.accelerator_vendor = former.accelerator_vendor
    AND best.is_socketed = former.is_socketed
    AND best.accelerator_launch_year > former.accelerator_launch_year
QUALIFY row_number() OVER (
    PARTITION BY best.result_id
    ORDER BY former.accelerator_launch_year DESC NULLS LAST, former.score_min, former.result_id
) = 1
