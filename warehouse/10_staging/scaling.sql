-- Convergence scaling of each result folder. Two files for one folder cannot be read as one factor.
-- The reader refuses factors out of range (gpurank.logs.convergence_scaling): there are none here.
SELECT
    scaling.round_id,
    scaling.folder_id,
    min(scaling.path) AS path,
    min(scaling.scaling_factor) AS scaling_factor_reported,
    CASE WHEN count(*) = 1 THEN min(scaling.scaling_factor) END AS scaling_factor
FROM raw.scaling AS scaling
GROUP BY scaling.round_id, scaling.folder_id
