-- The runs of each result in the order of the olympic mean: fastest first, a run without a usable
-- time (not converged, or no readable clock) after all others; which ones the mean keeps.
-- Where the rule takes the first converged runs, in the order of their file numbers, only those
-- are in the set.
WITH candidate AS (
    SELECT
        run.result_id,
        run.file,
        run.is_converged,
        rule.runs_required AS required_run_count,
        rule.drop_count,
        CASE WHEN run.is_converged THEN run.run_min END AS usable_min,
        row_number() OVER (
            PARTITION BY run.result_id ORDER BY NOT run.is_converged, run.run_order
        ) AS converged_number,
        rule.take_first_converged
    FROM core.run AS run
    JOIN core.result AS result USING (result_id)
    JOIN lookup.rule AS rule
        ON result.round_id = rule.round_id AND result.benchmark_folder = rule.benchmark_folder
)
SELECT
    result_id,
    file,
    usable_min,
    required_run_count,
    drop_count,
    count(*) OVER (PARTITION BY result_id) AS set_count,
    row_number() OVER place AS place,
    row_number() OVER place > drop_count
    AND row_number() OVER place <= count(*) OVER (PARTITION BY result_id) - drop_count AS is_kept
FROM candidate
WHERE NOT take_first_converged OR (is_converged AND converged_number <= required_run_count)
WINDOW place AS (PARTITION BY result_id ORDER BY usable_min ASC NULLS LAST, file)
