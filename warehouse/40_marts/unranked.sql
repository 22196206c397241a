-- Scored results without a rank, each with its reason.
SELECT * FROM analysis.unranked
