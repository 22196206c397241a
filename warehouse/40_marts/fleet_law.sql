-- How accelerator-minutes grow with the number of accelerators, or why no law could be fitted.
SELECT
    benchmark, row_count, submitter_count, estimated_date_count, half_count, exponent, yearly_gain,
    efficiency_64, efficiency_64_low, efficiency_64_high, efficiency_512, efficiency_512_low,
    efficiency_512_high, bootstrap_count, reason
FROM analysis.fleet_law
