-- Result folders that gave no row, and why: folders seen = results + these.
SELECT
    quarantine_id, round_id, folder_id, submitter_folder, system_folder, benchmark_folder,
    result_log_count, file_count, reason, version_id
FROM core.quarantine
