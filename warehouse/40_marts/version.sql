-- Which version of each round was valid since when.
SELECT *
FROM analysis.version
