-- Everything odd that is known before the metrics: from the reader, from the identification, and
-- what shows only when both stand side by side.
SELECT round_id, level, kind, message, source_file, line_number, result_id FROM staging.issue

UNION ALL BY NAME
SELECT round_id, level, kind, message, source_file FROM identity.issue

UNION ALL BY NAME
SELECT
    round_id,
    'error' AS level,
    'benchmark_unknown' AS kind,
    concat('no rule for benchmark folder ', benchmark_folder, '; the result has no score') AS message,
    folder_id AS source_file,
    result_id
FROM core.result
WHERE rule_basis = 'unknown'

UNION ALL BY NAME
SELECT
    round_id,
    'warning' AS level,
    'benchmark_not_of_the_round' AS kind,
    concat(benchmark, ' is not declared for ', round_id, '; its general rule is used') AS message,
    folder_id AS source_file,
    result_id
FROM core.result
WHERE rule_basis = 'by_name'

UNION ALL BY NAME
SELECT
    round_id,
    'warning' AS level,
    'division_unknown' AS kind,
    'no division is filed that can be read; the result is in no ranking' AS message,
    folder_id AS source_file,
    result_id
FROM core.result
WHERE division IS NULL

UNION ALL BY NAME
SELECT
    round_id,
    'error' AS level,
    'scaling_unreadable' AS kind,
    'the scaling factor cannot be read; the result has no score' AS message,
    scaling_path AS source_file,
    result_id
FROM core.result
WHERE scaling_path IS NOT NULL AND scaling_factor IS NULL

UNION ALL BY NAME
SELECT
    correction.round_id,
    'info' AS level,
    'correction' AS kind,
    concat(
        correction.correction_id, ': ', correction.column_name, ' ',
        correction.action, ' (', correction.reason, ')'
    ) AS message,
    correction.path AS source_file,
    run.result_id
FROM lookup.correction AS correction
JOIN raw.round_version AS loaded USING (round_id)
LEFT JOIN core.run AS run ON correction.round_id = run.round_id AND correction.path = run.file

UNION ALL BY NAME
SELECT
    round_id,
    'warning' AS level,
    'correction_unplaced' AS kind,
    concat(correction_id, ': its file is not in what was loaded of the round') AS message,
    path AS source_file
FROM lookup.correction_unplaced
