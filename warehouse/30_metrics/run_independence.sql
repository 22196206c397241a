-- Where each measurement was first submitted: runs of equal start, stop and quality are one.
SELECT
    run.result_id,
    run.file,
    run.fingerprint,
    first_value(run.round_id) OVER measurement AS first_seen_round_id,
    first_value(run.file) OVER measurement AS first_seen_file,
    round.round_number > min(round.round_number) OVER measurement AS is_refiled,
    row_number() OVER (
        PARTITION BY run.fingerprint, run.round_id
        ORDER BY measurement.place_in_round, measurement.file_order, run.run_order
    ) > 1 AS is_same_round_copy,
    row_number() OVER (
        PARTITION BY run.fingerprint, run.result_id ORDER BY run.run_order
    ) > 1 AS is_repeated_in_result
FROM core.run AS run
JOIN metrics.measurement AS measurement USING (result_id)
JOIN lookup.round AS round ON run.round_id = round.round_id
WHERE run.fingerprint IS NOT NULL
WINDOW measurement AS (
    PARTITION BY run.fingerprint
    ORDER BY
        round.round_number, measurement.place_in_round, measurement.file_order, run.run_order
)
