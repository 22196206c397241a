-- One row per result folder: submitter, system, benchmark, and what was submitted about it.
-- The division is the system description's or, if that has none, the one that its logs agree on. A
-- division that cannot be read stays unknown, because logs of open results say closed, too.
WITH log_division AS (
    SELECT
        run.round_id,
        run.folder_id,
        CASE WHEN min(known.division) = max(known.division) THEN min(known.division) END AS division
    FROM staging.run AS run
    JOIN lookup.division AS known ON lower(trim(run.division_reported)) = known.reported
    GROUP BY run.round_id, run.folder_id
)
SELECT
    folder.result_id,
    folder.round_id,
    folder.version_id,
    version.source_commit,
    folder.folder_id,
    folder.submitter_folder,
    folder.package_folder,
    folder.system_folder,
    folder.benchmark_folder,
    folder.round_folder,
    folder.benchmark,
    folder.rule_basis,
    system.system_id,
    folder.system_path,
    CASE
        WHEN nullif(trim(system.division_reported), '') IS NULL THEN log_division.division
        ELSE system.division
    END AS division,
    CASE
        WHEN system.division IS NOT NULL THEN 'system'
        WHEN nullif(trim(system.division_reported), '') IS NULL
            AND log_division.division IS NOT NULL THEN 'log'
    END AS division_source,
    system.availability,
    system.is_on_premises,
    coalesce(system.submitter, listed.submitter, folder.submitter_folder) AS submitter,
    coalesce(system.system_name_reported, folder.system_folder) AS system_name,
    system.accelerator,
    system.accelerator_reported,
    system.accelerator_vendor,
    system.accelerator_family,
    system.accelerator_count,
    system.node_count,
    system.host_cpu,
    system.framework,
    system.software,
    scaling.path AS scaling_path,
    scaling.scaling_factor_reported,
    scaling.scaling_factor,
    folder.checker_params,
    folder.result_log_count,
    folder.withheld_log_count,
    folder.file_count
FROM staging.folder AS folder
JOIN raw.round_version AS version USING (round_id)
LEFT JOIN core.system AS system
    ON folder.round_id = system.round_id AND folder.system_path = system.path
LEFT JOIN log_division
    ON folder.round_id = log_division.round_id AND folder.folder_id = log_division.folder_id
LEFT JOIN staging.scaling AS scaling
    ON folder.round_id = scaling.round_id AND folder.folder_id = scaling.folder_id
LEFT JOIN identity.submitter AS listed
    ON folder.round_id = listed.round_id AND folder.submitter_folder = listed.reported
WHERE folder.quarantine_reason IS NULL
