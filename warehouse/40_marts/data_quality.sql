-- What a reader should know about each round's data: how the folders came out, what the rankings
-- leave out, and each kind of issue with its count and one example.
SELECT
    round_id,
    'folders' AS topic,
    entry.name,
    NULL::VARCHAR AS level,
    entry.value AS row_count,
    NULL::VARCHAR AS example,
    NULL::VARCHAR AS example_file
FROM marts.round_summary, (
    SELECT unnest([
        {'name': 'seen', 'value': folder_count},
        {'name': 'results', 'value': result_count},
        {'name': 'quarantined', 'value': quarantined_count},
        {'name': 'with a score', 'value': scored_count},
        {'name': 'with a throughput', 'value': throughput_count},
        {'name': 'independent', 'value': independent_count},
        {'name': 'ranked', 'value': ranked_count},
        {'name': 'not ranked', 'value': unranked_count}
    ])
) AS counted (entry)

UNION ALL
SELECT
    round_id,
    'quarantine' AS topic,
    reason AS name,
    'error' AS level,
    count(*) AS row_count,
    NULL AS example,
    min(folder_id) AS example_file
FROM marts.quarantine
GROUP BY round_id, reason

UNION ALL
SELECT
    round_id,
    'unranked' AS topic,
    reason AS name,
    'info' AS level,
    count(*) AS row_count,
    NULL AS example,
    min(result_id) AS example_file
FROM marts.unranked
WHERE scope = 'round'
GROUP BY round_id, reason

UNION ALL
SELECT
    round_id,
    'issue' AS topic,
    kind AS name,
    level,
    count(*) AS row_count,
    arg_min(message, {'file': coalesce(source_file, ''), 'message': message}) AS example,
    min(source_file) AS example_file
FROM marts.issue
GROUP BY round_id, kind, level
