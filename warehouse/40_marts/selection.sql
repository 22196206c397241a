-- Which variables of a configuration go with its time and its accelerator-minutes.
SELECT * FROM analysis.selection
