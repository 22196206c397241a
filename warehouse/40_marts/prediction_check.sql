-- How well cells left out of the fleet law are predicted, and how often the intervals hold them.
SELECT
    benchmark, cell_count, row_count, median_error, coverage, cell_coverage, coverage_inside,
    coverage_extrapolated
FROM analysis.prediction_check
