-- The number of accelerators at which the fleet law's efficiency has fallen to a level.
SELECT
    benchmark, fleet_efficiency, accelerator_count, count_low, count_high
FROM analysis.break_even
