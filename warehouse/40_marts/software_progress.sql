-- Gains from software alone: the same submitter, accelerator, count and host CPU measured again in
-- the next loaded round of the benchmark; of several such systems in a round the fastest.
WITH place AS (
    SELECT
        benchmark, round_id, round_date,
        dense_rank() OVER (PARTITION BY benchmark ORDER BY round_index) AS place
    FROM (
        SELECT DISTINCT benchmark, round_id, round_date, round_index FROM metrics.configuration
    )
), best AS (
    SELECT
        entry.benchmark, entry.submitter, entry.accelerator, entry.accelerator_count,
        result.host_cpu, place.round_id, place.round_date, place.place, entry.result_id,
        entry.score_min
    FROM metrics.configuration AS entry
    JOIN core.result AS result USING (result_id)
    JOIN place ON entry.benchmark = place.benchmark AND entry.round_id = place.round_id
    WHERE
        entry.is_in_analysis_set AND entry.submitter IS NOT NULL
        AND entry.accelerator IS NOT NULL AND result.host_cpu IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY
            entry.benchmark, entry.submitter, entry.accelerator, entry.accelerator_count,
            result.host_cpu, place.place
        ORDER BY entry.score_min, entry.result_id
    ) = 1
)
SELECT
    later.benchmark, later.submitter, later.accelerator, later.accelerator_count, later.host_cpu,
    earlier.round_id AS from_round_id,
    later.round_id AS to_round_id,
    earlier.result_id AS from_result_id,
    later.result_id AS to_result_id,
    earlier.score_min AS from_score_min,
    later.score_min AS to_score_min,
    earlier.score_min / later.score_min AS speedup,
    date_diff('day', earlier.round_date, later.round_date) / 365.25::DOUBLE AS years,
    pow(
        earlier.score_min / later.score_min,
        365.25 / date_diff('day', earlier.round_date, later.round_date)
    )::DOUBLE AS yearly_speedup
FROM best AS later
JOIN best AS earlier
    ON later.benchmark = earlier.benchmark
    AND later.submitter = earlier.submitter
    AND later.accelerator = earlier.accelerator
    AND later.accelerator_count = earlier.accelerator_count
    AND later.host_cpu = earlier.host_cpu
    AND later.place = earlier.place + 1
