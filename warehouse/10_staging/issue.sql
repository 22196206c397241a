-- Issues of the reader, with the result they touch where they touch one.
SELECT
    issue.round_id,
    issue.level,
    issue.kind,
    issue.message,
    issue.source_file,
    issue.line_number,
    issue.folder_id,
    folder.result_id
FROM raw.issue AS issue
LEFT JOIN staging.folder AS folder USING (round_id, folder_id)
