-- Samples that each run processed until it converged, from the counter of its deciding evaluation.
-- lookup.samples says what that counter means in which rounds; where it has no entry, or
-- the counter has no value that an entry covers, there is a reason instead of a number.
WITH candidate AS (
    SELECT
        run.result_id,
        run.file,
        definition.benchmark IS NOT NULL AS is_defined,
        coalesce(definition.is_derivable, FALSE) AS is_derivable,
        definition.priority,
        definition.epoch_samples,
        definition.counter_above,
        definition.counter_upto,
        definition.factor_upto,
        CASE definition.counter
            WHEN 'epoch_num' THEN run.epoch_num
            -- Epochs counted from 0 (or an evaluation before training) are one more than they say.
            WHEN 'epochs_done' THEN run.epoch_num + (run.first_epoch_num <= 0)::INTEGER
            WHEN 'samples_count' THEN run.samples_count
            WHEN 'step_num' THEN run.step_num
        END AS counter,
        definition.counter_offset,
        definition.factor_value,
        CASE definition.factor
            WHEN 'none' THEN 1
            WHEN 'train_samples' THEN run.train_samples
            WHEN 'global_batch_size' THEN run.global_batch_size
            WHEN 'input_size' THEN run.input_size
        END AS factor
    FROM core.run AS run
    JOIN lookup.round AS round USING (round_id)
    LEFT JOIN lookup.samples AS definition
        ON run.benchmark = definition.benchmark
        AND round.round_number BETWEEN definition.first_number AND definition.last_number
), chosen AS (
    SELECT
        *,
        coalesce(counter > coalesce(counter_above, '-infinity'::DOUBLE)
            AND counter <= coalesce(counter_upto, 'infinity'::DOUBLE), FALSE) AS is_covered
    FROM candidate
    QUALIFY row_number() OVER (
        PARTITION BY file, result_id ORDER BY is_covered DESC, counter IS NULL, priority
    ) = 1
), judged AS (
    SELECT
        *,
        CASE
            WHEN NOT is_defined THEN 'counter_not_defined'
            WHEN is_covered AND NOT is_derivable THEN 'counter_is_not_samples'
            WHEN counter IS NULL AND NOT is_derivable THEN 'counter_is_not_samples'
            WHEN counter IS NULL THEN 'counter_missing'
            WHEN NOT is_covered THEN 'counter_out_of_range'
            WHEN factor IS NULL OR factor <= 0 THEN 'factor_missing'
            WHEN factor > factor_upto THEN 'factor_is_not_trained_samples'
        END AS samples_missing_reason
    FROM chosen
)
SELECT
    result_id,
    file,
    CASE WHEN samples_missing_reason IS NULL
        THEN (counter + counter_offset) * factor_value * factor
    END AS samples_to_converge,
    samples_missing_reason,
    CASE WHEN samples_missing_reason IS NULL
        THEN (counter + counter_offset) * factor_value * factor / epoch_samples
    END AS epochs_to_converge
FROM judged
