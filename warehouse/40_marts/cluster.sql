-- The cluster of each configuration that was clustered.
SELECT
    cluster.benchmark, cluster.result_id, cluster.cluster_label, result.round_id, profile.name
FROM analysis.cluster AS cluster
JOIN marts.result AS result USING (result_id)
LEFT JOIN analysis.cluster_profile AS profile
    ON cluster.benchmark = profile.benchmark AND cluster.cluster_label = profile.cluster_label
