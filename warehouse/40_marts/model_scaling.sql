-- How one accelerator's times fall with its number, by two simple laws.
SELECT
    benchmark, accelerator, row_count, count_low, count_high, power_exponent, power_error,
    serial_share, serial_error
FROM analysis.model_scaling
