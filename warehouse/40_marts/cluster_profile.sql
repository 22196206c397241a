-- What each cluster holds, or why a benchmark has none.
SELECT
    benchmark, cluster_label, name, member_count, is_small, median_score_min,
    median_accelerator_count, median_accelerator_minutes, accelerator_minutes_ratio,
    share_4_to_16, leading_families, jaccard, inertia, is_count_stable, count_note,
    row_count, reason
FROM analysis.cluster_profile
