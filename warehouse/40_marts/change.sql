-- What changed upstream between the two newest versions of each round.
SELECT *
FROM analysis.change
