-- How well the data supports each number of clusters.
SELECT * FROM analysis.cluster_count
