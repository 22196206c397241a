-- Throughput of a result: mean samples to converge of the runs that the score keeps, over their
-- mean run time. The convergence scaling is not applied, because it makes no machine slower; it is
-- applied to the scaled epochs, so that
-- accelerator-minutes = scaled samples / (60 x throughput per accelerator).
WITH kept AS (
    SELECT
        run_set.result_id,
        count(*) AS kept_count,
        count(samples.samples_to_converge) AS derived_count,
        min(samples.samples_missing_reason) AS samples_missing_reason,
        list_sum(list(samples.samples_to_converge ORDER BY run_set.place))
            / count(samples.samples_to_converge) AS mean_samples,
        list_sum(list(samples.epochs_to_converge ORDER BY run_set.place))
            / nullif(count(samples.epochs_to_converge), 0) AS mean_epochs
    FROM metrics.run_set AS run_set
    JOIN metrics.run_samples AS samples USING (result_id, file)
    WHERE run_set.is_kept
    GROUP BY run_set.result_id
), logged AS (
    SELECT
        result_id,
        median(logged_system_per_s) AS logged_throughput_per_s,
        median(logged_ratio) AS logged_ratio,
        count(*) FILTER (is_logged_consistent) AS consistent_run_count,
        count(*) FILTER (NOT is_logged_consistent) AS inconsistent_run_count
    FROM metrics.run_throughput
    GROUP BY result_id
), derived AS (
    SELECT
        result.result_id,
        result.accelerator_count,
        score.scaling_factor,
        CASE
            WHEN score.unscaled_min IS NULL THEN 'no_score'
            WHEN kept.derived_count < kept.kept_count THEN kept.samples_missing_reason
        END AS throughput_missing_reason,
        kept.mean_samples,
        kept.mean_epochs,
        kept.mean_samples / (score.unscaled_min * 60) AS throughput_per_s
    FROM core.result AS result
    JOIN metrics.score AS score USING (result_id)
    LEFT JOIN kept USING (result_id)
)
SELECT
    derived.result_id,
    CASE WHEN throughput_missing_reason IS NULL THEN mean_samples END AS samples_to_converge,
    CASE WHEN throughput_missing_reason IS NULL THEN mean_epochs END AS epochs_to_converge,
    CASE WHEN throughput_missing_reason IS NULL THEN mean_samples * scaling_factor
    END AS scaled_samples_to_converge,
    CASE WHEN throughput_missing_reason IS NULL THEN throughput_per_s END AS throughput_per_s,
    CASE WHEN throughput_missing_reason IS NULL THEN throughput_per_s / nullif(accelerator_count, 0)
    END AS throughput_per_accelerator_per_s,
    throughput_missing_reason,
    logged.logged_throughput_per_s,
    logged.logged_ratio,
    coalesce(logged.consistent_run_count, 0) AS consistent_run_count,
    coalesce(logged.inconsistent_run_count, 0) AS inconsistent_run_count
FROM derived
LEFT JOIN logged USING (result_id)
