-- System descriptions: what was filed, what it means, and the totals read from it.
SELECT
    system.round_id,
    system.version_id,
    system.path,
    concat_ws('/', system.round_id, system.path) AS system_id,
    system.submitter_folder,
    system.system_folder,
    system.parse_dialect,
    system.submitter_reported,
    system.division_reported,
    system.status_reported,
    system.system_name_reported,
    system.accelerator_reported,
    system.host_cpu_reported,
    system.host_networking_reported,
    system.framework_reported,
    submitter.submitter,
    submitter.members AS submitter_members,
    division.division,
    status.availability,
    status.is_on_premises,
    accelerator.accelerator,
    accelerator.vendor AS accelerator_vendor,
    accelerator.family AS accelerator_family,
    accelerator.architecture AS accelerator_architecture,
    accelerator.form_factor AS accelerator_form_factor,
    accelerator.launch_year AS accelerator_launch_year,
    accelerator.peak_dense_bf16_tflops AS accelerator_peak_dense_bf16_tflops,
    accelerator.memory_bandwidth_gb_s AS accelerator_memory_bandwidth_gb_s,
    cpu.cpu AS host_cpu,
    cpu.vendor AS cpu_vendor,
    cpu.launch_year AS cpu_launch_year,
    framework.framework,
    -- One software stack: the framework as filed, whatever its spacing and case.
    nullif(lower(regexp_replace(trim(system.framework_reported), '\s+', ' ', 'g')), '') AS software,
    total.node_count,
    total.accelerators_per_node,
    total.accelerator_count,
    total.accelerator_memory_gib,
    total.accelerator_domain_size,
    total.link_rank,
    total.is_socketed,
    total.socket_count,
    total.cpus_per_node,
    total.cores_per_socket,
    total.core_count,
    total.memory_per_node_gib,
    total.network_gbps_per_node,
    total.explanation,
    coalesce(total.is_low_confidence, FALSE) AS is_low_confidence,
    total.count_missing_reason
FROM identity.system_reported AS system
LEFT JOIN identity.submitter AS submitter
    ON system.round_id = submitter.round_id AND system.submitter_reported = submitter.reported
LEFT JOIN identity.division AS division
    ON system.round_id = division.round_id AND system.division_reported = division.reported
LEFT JOIN identity.status AS status
    ON system.round_id = status.round_id AND system.status_reported = status.reported
LEFT JOIN identity.system_accelerator AS accelerator
    ON system.round_id = accelerator.round_id AND system.path = accelerator.path
LEFT JOIN identity.cpu AS cpu
    ON system.round_id = cpu.round_id AND system.host_cpu_reported = cpu.reported
LEFT JOIN identity.framework AS framework
    ON system.round_id = framework.round_id AND system.framework_reported = framework.reported
LEFT JOIN identity.system_total AS total
    ON system.round_id = total.round_id AND system.path = total.path
