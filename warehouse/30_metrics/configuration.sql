-- The method's input: one row per scored result with every candidate variable. A round whose date
-- is not known is placed half a year after the round before it: there are two rounds a year.
WITH placed AS (
    SELECT
        round_id,
        round_index,
        round_date,
        last_value(round_date IGNORE NULLS) OVER before AS known_date,
        last_value(CASE WHEN round_date IS NOT NULL THEN round_index END IGNORE NULLS)
            OVER before AS known_index
    FROM lookup.round
    WINDOW before AS (ORDER BY round_index ROWS UNBOUNDED PRECEDING)
), dated AS (
    SELECT
        round_id,
        round_index,
        coalesce(
            round_date,
            CAST(known_date + to_months(CAST(6 * (round_index - known_index) AS INTEGER)) AS DATE)
        ) AS round_date,
        round_date IS NULL AS is_round_date_estimated
    FROM placed
)
SELECT
    result.result_id,
    result.round_id,
    round.round_index,
    round.round_date,
    round.is_round_date_estimated,
    result.benchmark,
    result.division,
    result.submitter,
    result.system_folder,
    result.accelerator,
    result.accelerator_family,
    independence.is_independent,
    independence.is_same_round_copy,
    span.span_id,
    coalesce(result.division = 'closed', FALSE)
    AND coalesce(result.accelerator_count > 0, FALSE)
    AND span.is_main_span
    AND independence.is_independent AS is_in_analysis_set,
    coalesce(result.division = 'closed', FALSE)
    AND NOT independence.is_same_round_copy AS is_in_round_list,
    score.score_min,
    score.unscaled_min,
    result.accelerator_count,
    nullif(result.accelerator_count, 0) * score.score_min AS accelerator_minutes,
    score.run_minutes,
    score.drop_count AS dropped_count,
    system.node_count,
    system.accelerators_per_node,
    system.accelerator_launch_year,
    system.link_rank,
    system.is_socketed,
    system.core_count,
    system.socket_count,
    system.cores_per_socket,
    system.cpu_launch_year,
    system.cpu_vendor,
    system.memory_per_node_gib,
    system.network_gbps_per_node
FROM core.result AS result
JOIN metrics.score AS score USING (result_id)
JOIN metrics.independence AS independence USING (result_id)
JOIN metrics.comparability AS span USING (benchmark, round_id)
JOIN dated AS round ON result.round_id = round.round_id
LEFT JOIN core.system AS system ON result.system_id = system.system_id
WHERE score.score_min IS NOT NULL
