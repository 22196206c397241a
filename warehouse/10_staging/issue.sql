-- Issues of the reader, with the result that they concern, if any. An issue of a folder
-- names it as its file; a quarantined folder is no result.
SELECT
    issue.round_id,
    issue.level,
    issue.kind,
    issue.message,
    coalesce(issue.source_file, issue.folder_id) AS source_file,
    issue.line_number,
    issue.folder_id,
    folder.result_id
FROM raw.issue AS issue
LEFT JOIN staging.folder AS folder
    ON issue.round_id = folder.round_id
    AND issue.folder_id = folder.folder_id
    AND folder.quarantine_reason IS NULL
