-- Convergence scaling of each result folder. Two files for one folder, or a factor out of range
-- (the rules only ever scale back), cannot be read as one factor.
SELECT
    scaling.round_id,
    scaling.folder_id,
    min(scaling.path) AS path,
    min(scaling.scaling_factor) AS scaling_factor_reported,
    CASE
        WHEN count(*) = 1 AND min(scaling.scaling_factor) BETWEEN min(bound.low) AND min(bound.high)
            THEN min(scaling.scaling_factor)
    END AS scaling_factor
FROM raw.scaling AS scaling
CROSS JOIN (FROM lookup.bound WHERE bound = 'scaling_factor') AS bound
GROUP BY scaling.round_id, scaling.folder_id
