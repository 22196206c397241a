-- The score of a result: olympic mean of its run times (metrics.run_set), times the convergence
-- scaling where the division is closed; a scaled result of no known division has no score. No
-- score without a reason, and no reason with one.
-- A set that lacks logs has a score while runs remain after the drop, and says so. Where a log is
-- there but was not read (too large, or missing from the copy of the repository) there is none: the
-- official score is of all of them.
WITH total AS (
    SELECT result_id, count(*) AS run_count, count(*) FILTER (is_converged) AS converged_run_count
    FROM core.run
    GROUP BY result_id
), olympic AS (
    SELECT
        result_id,
        count(*) AS set_count,
        count(*) - count(usable_min) AS unusable_count,
        -- Ordered lists: the sum of doubles must not depend on threads.
        list(usable_min ORDER BY place) FILTER (usable_min IS NOT NULL) AS run_minutes,
        list(usable_min ORDER BY place) FILTER (is_kept AND usable_min IS NOT NULL) AS kept_minutes,
        count(*) FILTER (is_kept) AS kept_count
    FROM metrics.run_set
    GROUP BY result_id
), judged AS (
    SELECT
        result.result_id,
        rule.*,
        coalesce(total.run_count, 0) AS run_count,
        coalesce(total.converged_run_count, 0) AS converged_run_count,
        coalesce(olympic.set_count, 0) AS set_count,
        olympic.run_minutes,
        olympic.kept_minutes,
        result.scaling_factor_reported,
        CASE
            WHEN result.scaling_path IS NULL OR result.division = 'open' THEN 1.0
            WHEN result.division = 'closed' THEN result.scaling_factor
        END::DOUBLE AS scaling_factor,
        result.division,
        CASE
            WHEN rule.basis = 'unknown' THEN 'unknown_benchmark'
            WHEN result.withheld_log_count > 0 THEN 'withheld_result_logs'
            WHEN total.run_count IS NULL THEN 'no_logs'
            WHEN olympic.run_minutes IS NULL THEN 'no_converged_run_with_a_time'
            WHEN rule.take_first_converged AND olympic.set_count < rule.runs_required
                THEN 'too_few_converged_runs'
            WHEN olympic.unusable_count > rule.max_nonconverged THEN 'too_many_nonconverged_runs'
            WHEN olympic.kept_count = 0 THEN 'too_few_runs'
            WHEN len(olympic.kept_minutes) < olympic.kept_count THEN 'too_many_nonconverged_runs'
        END AS unscaled_missing_reason
    FROM core.result AS result
    JOIN lookup.rule AS rule
        ON result.round_id = rule.round_id AND result.benchmark_folder = rule.benchmark_folder
    LEFT JOIN total USING (result_id)
    LEFT JOIN olympic USING (result_id)
)
SELECT
    result_id,
    CASE WHEN unscaled_missing_reason IS NULL
        THEN list_sum(kept_minutes) / len(kept_minutes) * scaling_factor
    END AS score_min,
    CASE
        WHEN unscaled_missing_reason IS NOT NULL THEN unscaled_missing_reason
        WHEN scaling_factor IS NULL AND division IS NULL THEN 'unknown_division_of_scaled_result'
        WHEN scaling_factor IS NULL THEN 'unreadable_scaling_factor'
    END AS score_missing_reason,
    CASE WHEN unscaled_missing_reason IS NULL
        THEN list_sum(kept_minutes) / len(kept_minutes)
    END AS unscaled_min,
    scaling_factor,
    scaling_factor_reported,
    run_count,
    converged_run_count,
    runs_required AS required_run_count,
    drop_count,
    max_nonconverged AS max_nonconverged_count,
    coalesce(run_minutes, []) AS run_minutes,
    set_count >= runs_required AS is_complete_run_set
FROM judged
