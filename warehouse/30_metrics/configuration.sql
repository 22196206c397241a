-- The method's input: one row a scored result with every candidate variable.
SELECT
    result.result_id,
    result.round_id,
    round.round_index,
    round.round_date,
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
JOIN lookup.round AS round ON result.round_id = round.round_id
LEFT JOIN core.system AS system ON result.system_id = system.system_id
WHERE score.score_min IS NOT NULL
