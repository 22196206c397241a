-- How well the data supports each number of clusters.
SELECT
    benchmark, cluster_count, is_chosen, inertia, silhouette, calinski_harabasz, gap, gap_sd,
    bootstrap_ari, jaccard, jaccard_low, is_stable, submitter_ari, submitter_ari_low, submitter_low,
    ward_ari, mixture_ari, bootstrap_count
FROM analysis.cluster_count
