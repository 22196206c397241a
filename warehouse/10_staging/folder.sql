-- Result folders with their readable id and the benchmark that the folder's name means in its
-- round. Quarantined folders stay here with their reason.
SELECT
    folder.round_id,
    folder.version_id,
    folder.folder_id,
    concat_ws(
        '/',
        folder.round_id,
        folder.submitter_folder,
        folder.package_folder,
        folder.system_folder,
        folder.benchmark_folder
    ) AS result_id,
    folder.submitter_folder,
    folder.package_folder,
    folder.system_folder,
    folder.benchmark_folder,
    folder.benchmark_folder_source,
    rule.round_folder,
    rule.benchmark,
    rule.basis AS rule_basis,
    folder.result_log_count,
    folder.file_count,
    folder.system_path,
    folder.checker_params,
    folder.quarantine_reason
FROM raw.folder AS folder
JOIN lookup.rule AS rule USING (round_id, benchmark_folder)
