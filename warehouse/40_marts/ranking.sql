-- Ranked configurations, per round and pooled, with what they are.
SELECT
    ranking.*,
    result.submitter,
    result.system_name,
    result.system_folder,
    result.accelerator,
    result.node_count,
    result.host_cpu,
    result.availability,
    result.is_on_premises,
    cluster.name AS cluster_name,
    result.energy_kwh,
    result.first_seen_round_id,
    result.is_independent,
    result.worst_issue
FROM analysis.ranking AS ranking
JOIN marts.result AS result USING (result_id)
LEFT JOIN analysis.cluster_profile AS cluster
    ON ranking.benchmark = cluster.benchmark AND ranking.cluster_label = cluster.cluster_label
