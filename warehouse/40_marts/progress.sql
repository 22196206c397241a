-- Gains from software and from hardware, one row per benchmark where either can be measured.
WITH software AS (
    SELECT
        benchmark,
        count(*) AS software_pair_count,
        median(yearly_speedup) AS software_yearly_speedup
    FROM marts.software_progress
    GROUP BY benchmark
), hardware AS (
    SELECT
        benchmark,
        count(speedup) AS hardware_pair_count,
        median(speedup) AS hardware_generation_speedup,
        median(yearly_speedup) AS hardware_yearly_speedup
    FROM marts.hardware_progress
    GROUP BY benchmark
    HAVING count(speedup) > 0
)
SELECT
    benchmark,
    coalesce(software.software_pair_count, 0) AS software_pair_count,
    software.software_yearly_speedup,
    exp(law.yearly_gain) AS law_yearly_speedup,
    coalesce(hardware.hardware_pair_count, 0) AS hardware_pair_count,
    hardware.hardware_generation_speedup,
    hardware.hardware_yearly_speedup
FROM software
FULL JOIN hardware USING (benchmark)
LEFT JOIN analysis.fleet_law AS law USING (benchmark)
