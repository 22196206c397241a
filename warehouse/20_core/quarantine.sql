-- Result folders without a row in core.result, with their reasons: folders seen = results + these.
SELECT
    round_id,
    version_id,
    result_id AS quarantine_id,
    folder_id,
    submitter_folder,
    system_folder,
    benchmark_folder,
    result_log_count,
    file_count,
    quarantine_reason AS reason
FROM staging.folder
WHERE quarantine_reason IS NOT NULL
