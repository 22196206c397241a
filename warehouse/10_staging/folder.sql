-- Result folders with their readable id and the benchmark that the folder's name means in its
-- round. Quarantined folders stay here with their reason; so do results that were withdrawn.
WITH named AS (
    SELECT
        folder.*,
        concat_ws(
            '/',
            folder.round_id,
            folder.submitter_folder,
            folder.package_folder,
            folder.system_folder,
            folder.benchmark_folder
        ) AS result_id
    FROM raw.folder AS folder
)
SELECT
    folder.round_id,
    folder.version_id,
    folder.folder_id,
    folder.result_id,
    folder.submitter_folder,
    folder.package_folder,
    folder.system_folder,
    folder.benchmark_folder,
    folder.benchmark_folder_source,
    rule.round_folder,
    rule.benchmark,
    rule.basis AS rule_basis,
    folder.result_log_count,
    folder.withheld_log_count,
    folder.file_count,
    folder.system_path,
    folder.checker_params,
    coalesce(
        folder.quarantine_reason,
        'withdrawn on ' || withdrawn.withdrawn_on || ': ' || withdrawn.reason
    ) AS quarantine_reason
FROM named AS folder
JOIN lookup.rule AS rule USING (round_id, benchmark_folder)
LEFT JOIN lookup.withdrawn AS withdrawn ON folder.result_id = withdrawn.result_id
