-- Which variables of a configuration go with its time and its accelerator-minutes.
SELECT
    benchmark, target, variable, group_id, is_selected, selection_order, partial_correlation,
    date_correlation, stability, dropped_reason, importance_submitter, importance_family,
    row_count, submitter_count, bootstrap_count
FROM analysis.selection
