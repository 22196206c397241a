-- Every issue, with the result that it concerns, if any.
SELECT round_id, level, kind, message, source_file, line_number, result_id FROM core.issue
UNION ALL BY NAME
SELECT round_id, level, kind, message, source_file, line_number, result_id FROM metrics.issue
