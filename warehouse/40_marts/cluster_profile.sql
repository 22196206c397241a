-- What each cluster holds, or why a benchmark has none.
SELECT * FROM analysis.cluster_profile
