-- What a result's runs converged to, and with what batch: quality over the runs that the score
-- keeps, samples and steps until then, and whether the submission had its reference check skipped.
WITH kept AS (
    SELECT
        run_set.result_id,
        count(*) AS kept_count,
        count(run.quality) AS quality_count,
        min(run.quality) AS quality_min,
        median(run.quality) AS quality_median,
        max(run.quality) AS quality_max,
        count(run.global_batch_size) AS batch_count,
        min(run.global_batch_size) AS batch_min,
        max(run.global_batch_size) AS batch_max,
        list_sum(list(
            samples.samples_to_converge / nullif(run.global_batch_size, 0) ORDER BY run_set.place
        )) AS step_sum
    FROM metrics.run_set AS run_set
    JOIN core.run AS run USING (result_id, file)
    JOIN metrics.run_samples AS samples USING (result_id, file)
    WHERE run_set.is_kept AND run_set.usable_min IS NOT NULL
    GROUP BY run_set.result_id
), outcome AS (
    SELECT
        result_id,
        count(*) FILTER (NOT is_converged) AS nonconverged_run_count,
        string_agg(DISTINCT convergence_basis, ', ' ORDER BY convergence_basis)
            FILTER (is_converged) AS convergence_basis
    FROM core.run
    GROUP BY result_id
)
SELECT
    result.result_id,
    score.run_count,
    score.converged_run_count,
    coalesce(outcome.nonconverged_run_count, 0) AS nonconverged_run_count,
    score.required_run_count,
    score.max_nonconverged_count,
    outcome.convergence_basis,
    rule.metric,
    rule.direction,
    rule.target,
    rule.target_second,
    coalesce(kept.kept_count, 0) AS kept_run_count,
    coalesce(kept.quality_count, 0) AS quality_run_count,
    kept.quality_min,
    kept.quality_median,
    kept.quality_max,
    CASE rule.direction WHEN 'higher' THEN kept.quality_min WHEN 'lower' THEN kept.quality_max
    END AS quality_worst,
    CASE WHEN kept.batch_count = kept.kept_count AND kept.batch_min = kept.batch_max
        THEN kept.batch_min
    END AS global_batch_size,
    throughput.samples_to_converge,
    throughput.epochs_to_converge,
    CASE WHEN kept.batch_count = kept.kept_count AND throughput.samples_to_converge IS NOT NULL
        THEN kept.step_sum / kept.kept_count
    END AS steps_to_converge,
    result.checker_params,
    coalesce(regexp_matches(result.checker_params, 'rcp[-_ ]?bypass', 'i'), FALSE)
        AS is_reference_check_bypassed
FROM core.result AS result
JOIN metrics.score AS score USING (result_id)
JOIN metrics.throughput AS throughput USING (result_id)
JOIN lookup.rule AS rule
    ON result.round_id = rule.round_id AND result.benchmark_folder = rule.benchmark_folder
LEFT JOIN kept USING (result_id)
LEFT JOIN outcome USING (result_id)
