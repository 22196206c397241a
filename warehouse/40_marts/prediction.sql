-- Times to train predicted by the fleet law: derived predictions, never results.
SELECT
    benchmark, accelerator, accelerator_count, score_min, score_low_min, score_high_min,
    accelerator_minutes, is_filed, is_extrapolated, filed_count_low, filed_count_high,
    software_round_id
FROM analysis.prediction
