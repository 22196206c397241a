-- May results of these two rounds be compared? Join it to two results by benchmark and rounds.
SELECT benchmark, round_id, other_round_id, is_comparable, reason, warning, span_id, other_span_id
FROM metrics.comparison
