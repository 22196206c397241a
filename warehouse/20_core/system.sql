-- One row per system description, whether or not a result refers to it.
SELECT
    system.*,
    used.result_count IS NOT NULL AS is_used,
    coalesce(used.result_count, 0) AS result_count
FROM staging.system AS system
LEFT JOIN (
    SELECT round_id, system_path AS path, count(*) AS result_count
    FROM staging.folder
    WHERE quarantine_reason IS NULL AND system_path IS NOT NULL
    GROUP BY round_id, system_path
) AS used USING (round_id, path)
