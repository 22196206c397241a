-- The worst issue that concerns a result, its system description or one of its logs: errors before
-- warnings before notes, then by kind, file and line. A result without issues has no row.
WITH found AS (
    SELECT round_id, level, kind, source_file, line_number, message, result_id FROM core.issue
    UNION ALL BY NAME
    SELECT round_id, level, kind, source_file, line_number, message, result_id FROM metrics.issue
), touching AS (
    SELECT found.result_id, found.* EXCLUDE (result_id) FROM found WHERE result_id IS NOT NULL
    UNION ALL
    SELECT result.result_id, found.* EXCLUDE (result_id)
    FROM found
    JOIN core.result AS result
        ON found.round_id = result.round_id AND found.source_file = result.system_path
    WHERE found.result_id IS NULL
)
SELECT
    result_id,
    level,
    kind,
    message,
    source_file,
    line_number,
    count(*) OVER (PARTITION BY result_id) AS issue_count
FROM touching
JOIN lookup.issue_level AS rank USING (level)
QUALIFY row_number() OVER (
    PARTITION BY result_id ORDER BY rank.priority, kind, source_file, line_number, message
) = 1
