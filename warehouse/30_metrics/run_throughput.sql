-- Throughput of each run, the one that its log claims, and their ratio as a check.
-- A log without a figure but with a step time claims batch over step time. A figure is per system unless lookup.logged_unit says otherwise; where submissions differ
-- ("either"), the meaning that is closer to the derived value is used, and recorded.
WITH figure AS (
    SELECT
        run.result_id,
        run.file,
        run.logged_throughput_per_s AS logged_throughput_per_s,
        samples.samples_to_converge / (run.run_min * 60) AS throughput_per_s,
        coalesce(
            run.logged_throughput_per_s * coalesce(unit.logged_scale, 1),
            run.global_batch_size / nullif(run.logged_step_time_s, 0)
        ) AS logged_per_s,
        nullif(result.accelerator_count, 0) AS accelerator_count,
        coalesce(unit.logged_unit, 'system') AS declared_unit
    FROM core.run AS run
    JOIN core.result AS result USING (result_id)
    JOIN metrics.run_samples AS samples USING (result_id, file)
    JOIN lookup.round AS round ON run.round_id = round.round_id
    LEFT JOIN lookup.logged_unit AS unit
        ON run.benchmark = unit.benchmark
        AND round.round_number BETWEEN unit.first_number AND unit.last_number
), read AS (
    SELECT
        *,
        CASE
            WHEN declared_unit <> 'either' THEN declared_unit
            WHEN abs(ln(logged_per_s * accelerator_count / throughput_per_s))
                < abs(ln(logged_per_s / throughput_per_s)) THEN 'per_accelerator'
            ELSE 'system'
        END AS logged_unit
    FROM figure
), compared AS (
    SELECT
        *,
        CASE logged_unit
            WHEN 'per_accelerator' THEN logged_per_s * accelerator_count
            ELSE logged_per_s
        END AS logged_system_per_s
    FROM read
)
SELECT
    compared.result_id,
    compared.file,
    compared.throughput_per_s,
    compared.logged_throughput_per_s,
    CASE WHEN compared.logged_per_s IS NOT NULL THEN compared.logged_unit END AS logged_unit,
    compared.logged_system_per_s,
    compared.logged_system_per_s / nullif(compared.throughput_per_s, 0) AS logged_ratio,
    compared.logged_system_per_s / nullif(compared.throughput_per_s, 0)
        BETWEEN bound.low AND bound.high AS is_logged_consistent
FROM compared
CROSS JOIN (FROM lookup.bound WHERE bound = 'throughput_ratio') AS bound
