-- One row per loaded round: what it holds and how much of it has a score.
WITH result_total AS (
    SELECT
        round_id,
        count(*) AS result_count,
        count(score_min) AS scored_count,
        count(*) FILTER (division = 'open') AS open_count,
        count(*) FILTER (is_independent) AS independent_count,
        count(*) FILTER (is_same_round_copy) AS same_round_copy_count,
        count(*) FILTER (first_seen_round_id <> round_id) AS refiled_count,
        count(throughput_per_s) AS throughput_count,
        count(energy_kwh) AS energy_count,
        count(DISTINCT submitter) AS submitter_count,
        count(DISTINCT benchmark) AS benchmark_count,
        count(DISTINCT accelerator) AS accelerator_model_count,
        max(accelerator_count) AS largest_accelerator_count
    FROM marts.result
    GROUP BY round_id
), run_total AS (
    SELECT round_id, count(*) AS run_count, count(*) FILTER (is_converged) AS converged_run_count
    FROM marts.run
    GROUP BY round_id
), list_total AS (
    SELECT
        round_id,
        count(*) FILTER (is_ranked) AS ranked_count,
        count(*) FILTER (NOT is_ranked) AS unranked_count
    FROM (
        SELECT round_id, TRUE AS is_ranked FROM marts.ranking WHERE scope = 'round'
        UNION ALL
        SELECT round_id, FALSE FROM marts.unranked WHERE scope = 'round'
    )
    GROUP BY round_id
), folder_total AS (
    SELECT
        round_id,
        count(*) AS folder_count,
        count(quarantine_reason) AS quarantined_count
    FROM staging.folder
    GROUP BY round_id
)
SELECT
    version.round_id,
    round.round_date AS published_on,
    round.repository,
    licence.licence AS source_licence,
    licence.basis AS source_licence_basis,
    version.source_commit,
    version.version_id,
    version.valid_from,
    version.file_count,
    version.byte_count,
    coalesce(folder_total.folder_count, 0) AS folder_count,
    coalesce(folder_total.quarantined_count, 0) AS quarantined_count,
    coalesce(run_total.run_count, 0) AS run_count,
    coalesce(run_total.converged_run_count, 0) AS converged_run_count,
    coalesce(COLUMNS(result_total.* EXCLUDE (round_id, largest_accelerator_count)), 0),
    result_total.largest_accelerator_count,
    coalesce(list_total.ranked_count, 0) AS ranked_count,
    coalesce(list_total.unranked_count, 0) AS unranked_count
FROM raw.round_version AS version
JOIN lookup.round AS round USING (round_id)
LEFT JOIN lookup.source_licence AS licence USING (round_id)
LEFT JOIN folder_total USING (round_id)
LEFT JOIN result_total USING (round_id)
LEFT JOIN run_total USING (round_id)
LEFT JOIN list_total USING (round_id)
