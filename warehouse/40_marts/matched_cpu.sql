-- Whether host CPUs matter among systems of one round, accelerator and count.
SELECT
    benchmark, variable, effect_per_sd, p_value, cell_count, row_count
FROM analysis.matched_cpu
