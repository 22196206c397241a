-- The run hash of each result (its sorted run_start times): equal hashes, same measurements.
-- Of several results with one hash in one round the original is, in this order: the one whose
-- system was the first ever filed with it, the one whose own logs name its system folder, the
-- shorter submitter and system folder (copies append -power and the like), the first by name.
WITH hashed AS (
    SELECT
        result.result_id,
        result.round_id,
        result.submitter_folder,
        result.system_folder,
        round.round_number,
        md5(list(run.start_ms ORDER BY run.start_ms)
            FILTER (run.start_ms IS NOT NULL)::VARCHAR) AS run_hash,
        coalesce(bool_or(
            contains(lower(run.platform_reported), lower(result.system_folder))
        ), FALSE) AS is_named_by_logs
    FROM core.result AS result
    JOIN lookup.round AS round USING (round_id)
    LEFT JOIN core.run AS run USING (result_id)
    GROUP BY ALL
), ordered AS (
    SELECT
        *,
        row_number() OVER (
            ORDER BY
                round_number,
                is_named_by_logs DESC,
                length(submitter_folder),
                length(system_folder),
                result_id
        ) AS file_order
    FROM hashed
), traced AS (
    SELECT
        *,
        first_value({'submitter': submitter_folder, 'system': system_folder}) OVER earliest
        = {'submitter': submitter_folder, 'system': system_folder} AS is_first_system,
        first_value(round_id) OVER earliest AS first_seen_round_id,
        first_value(result_id) OVER earliest AS first_seen_result_id
    FROM ordered
    WINDOW earliest AS (PARTITION BY coalesce(run_hash, result_id) ORDER BY file_order)
)
SELECT
    result_id,
    run_hash,
    file_order,
    first_seen_round_id,
    first_seen_result_id,
    row_number() OVER (
        PARTITION BY coalesce(run_hash, result_id), round_id
        ORDER BY is_first_system DESC, file_order
    ) AS place_in_round
FROM traced
