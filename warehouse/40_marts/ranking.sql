-- Ranked configurations, per round and pooled, with what they are. A pooled list may hold rounds
-- between which something besides the systems changed; its rows say so.
WITH pooled AS (
    SELECT DISTINCT benchmark, round_id FROM analysis.ranking WHERE scope = 'pooled'
), broken AS (
    SELECT
        one.benchmark,
        string_agg(DISTINCT comparison.warning, '; ' ORDER BY comparison.warning) AS warning
    FROM pooled AS one
    JOIN pooled AS other USING (benchmark)
    JOIN metrics.comparison AS comparison
        ON one.benchmark = comparison.benchmark
        AND one.round_id = comparison.round_id
        AND other.round_id = comparison.other_round_id
    GROUP BY one.benchmark
)
SELECT
    ranking.scope, ranking.round_id, ranking.benchmark, ranking.rank, ranking.tie_group,
    ranking.result_id, ranking.score_min, ranking.accelerator_count,
    ranking.accelerator_minutes, ranking.delay_cost, ranking.lambda_chips,
    ranking.cluster_label, ranking.cluster_rank, ranking.log_score_sd, ranking.site_log_sd,
    ranking.best_for_lambda_low, ranking.best_for_lambda_high, ranking.probability_first,
    ranking.probability_top_5, ranking.rank_low_run, ranking.rank_high_run,
    ranking.rank_low_site, ranking.rank_high_site, ranking.rank_low, ranking.rank_high,
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
    result.worst_issue,
    CASE WHEN ranking.scope = 'pooled' THEN broken.warning END AS comparison_warning
FROM analysis.ranking AS ranking
JOIN marts.result AS result USING (result_id)
LEFT JOIN analysis.cluster_profile AS cluster
    ON ranking.benchmark = cluster.benchmark AND ranking.cluster_label = cluster.cluster_label
LEFT JOIN broken ON ranking.benchmark = broken.benchmark
