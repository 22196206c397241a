-- Every issue that is known before the metrics: from the reader, from identification, and from
-- comparing the two.
SELECT round_id, level, kind, message, source_file, line_number, result_id FROM staging.issue

UNION ALL BY NAME
SELECT round_id, level, kind, message, source_file FROM identity.issue

UNION ALL BY NAME
SELECT
    round_id,
    'warning' AS level,
    'round_not_declared' AS kind,
    concat(
        'warehouse/rounds.yml has no entry for ', round_id, ' under rounds; the usual rule of ',
        benchmark, ' is used'
    ) AS message,
    folder_id AS source_file,
    result_id
FROM core.result
JOIN lookup.round USING (round_id)
WHERE rule_basis = 'by_name' AND NOT is_declared

UNION ALL BY NAME
SELECT
    result.round_id,
    'warning' AS level,
    'target_not_declared' AS kind,
    concat(
        'warehouse/rounds.yml has no target for ', result.benchmark,
        '; the target that a log itself states is used'
    ) AS message,
    result.folder_id AS source_file,
    result.result_id
FROM core.result AS result
JOIN lookup.rule AS rule USING (round_id, benchmark_folder)
WHERE rule.target IS NULL AND rule.basis <> 'unknown'

UNION ALL BY NAME
SELECT
    result.round_id,
    'warning' AS level,
    'counter_not_declared' AS kind,
    concat(
        'warehouse/lookups/samples.csv has no line for ', result.benchmark, ' in ',
        result.round_id, ', so it has no throughput; gpurank doctor --round ', result.round_id,
        ' prints it'
    ) AS message,
    result.folder_id AS source_file,
    result.result_id
FROM core.result AS result
JOIN lookup.round AS round USING (round_id)
ANTI JOIN lookup.samples AS samples
    ON result.benchmark = samples.benchmark
    AND round.round_number BETWEEN samples.first_number AND samples.last_number

UNION ALL BY NAME
SELECT
    result.round_id,
    'info' AS level,
    'span_not_declared' AS kind,
    concat(
        'warehouse/rounds.yml has no comparable span of ', result.benchmark, ' in ',
        result.round_id, ', so it is compared with no other round'
    ) AS message,
    result.folder_id AS source_file,
    result.result_id
FROM core.result AS result
JOIN lookup.round AS round USING (round_id)
ANTI JOIN lookup.comparable_span AS span
    ON result.benchmark = span.benchmark
    AND round.round_number BETWEEN span.first_number AND span.last_number

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
