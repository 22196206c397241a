-- Scored results without a rank, each with its reason.
SELECT
    result_id, round_id, benchmark, reason
FROM analysis.unranked
