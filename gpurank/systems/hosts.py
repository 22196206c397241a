"""Sockets and cores of a system's hosts.

The reference table by processor model wins over the filed core count, which submitters state per
socket, per node, per virtual machine, or mistyped. A filed count that does not fit is explained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpurank.systems.cpus import COUNT, identify_cpu, node_parts
from gpurank.systems.quantities import count

MOST_CORES = 288


@dataclass(frozen=True, slots=True)
class Host:
    """Sockets and cores; None where they are not known. ``reasons`` are (text, is doubtful)."""

    cpus_per_node: int | None = None
    socket_count: int | None = None
    cores_per_socket: int | None = None
    core_count: int | None = None
    reasons: tuple[tuple[str, bool], ...] = ()


def _times(*factors: int | None) -> int | None:
    product = 1
    for factor in factors:
        if factor is None:
            return None
        product *= factor
    return product


def _prefix(text: str | None) -> int | None:
    match = COUNT.match(text or "")
    return int(match[1]) if match else None


def _node_total(row: dict[str, Any], nodes: int | None, cores: int | None) -> Host:
    """Reads a description whose core count is a node's, with the processors as ``2x ...``."""
    cpus = _prefix(row["host_cpu_reported"])
    filed = count(row["host_cpu_core_count_reported"]) or None
    reasons: list[tuple[str, bool]] = []
    if cpus is None and filed and cores and filed % cores == 0 and filed > cores:
        cpus = filed // cores
        reasons.append((f"{filed} cores per node are {cpus} sockets of {cores}", False))
    elif cpus is None and filed and filed == cores:
        reasons.append((f"{filed} cores: of a node with one socket, or of one socket", True))
        filed = None
    if filed and cpus and cores and filed != cpus * cores:
        reasons.append((f"{filed} cores per node are filed; it has {cpus} x {cores}", False))
    if cores is None and filed and cpus and filed % cpus == 0:
        cores = filed // cpus
    total = _times(nodes, cpus, cores) or _times(nodes, filed)
    return Host(cpus, _times(nodes, cpus), cores, total, tuple(reasons))


def _explain(filed: int, cores: int, cpus: int | None, *, is_cloud: bool) -> tuple[str, bool]:
    """Returns why the filed core count differs from the model's, and whether it is doubtful."""
    text = f"{filed} cores are filed, a socket has {cores}"
    if cpus and cpus > 1 and filed == cores * cpus:
        return f"{text}: a node's total was filed as a socket's", False
    if filed in (2 * cores, 2 * cores * (cpus or 1)):
        return f"{text}: threads were filed as cores", False
    if filed < cores and is_cloud:
        return f"{text}: a virtual machine may see fewer than the sockets have", True
    return text, False


def _mixed(row: dict[str, Any], nodes: int | None, cpus: int | None) -> Host:
    """Reads a system of different processors; cores are summed only if every node is named."""
    parts = node_parts(row["host_cpu_reported"])
    cores = [identify_cpu(part).values.get("cores_per_socket") for part in parts]
    total = None
    known = [number for number in cores if number is not None]
    if cpus and len(known) == len(parts) == nodes:
        total = cpus * sum(known)
    reason = "its nodes have different processors"
    return Host(cpus, _times(nodes, cpus), None, total, ((reason, True),))


def read_host(row: dict[str, Any], nodes: int | None, *, is_node_total: bool) -> Host:
    """Returns sockets and cores of one raw.system row.

    Args:
        row: the row, by column.
        nodes: its number of nodes.
        is_node_total: the core count is a node's (v0.5's shape) and not a socket's.
    """
    match = identify_cpu(row["host_cpu_reported"])
    cores = match.values.get("cores_per_socket")
    if is_node_total:
        return _node_total(row, nodes, cores)
    cpus = count(row["host_cpus_per_node_reported"]) or _prefix(row["host_cpu_reported"])
    if str(match.values.get("cpu")).startswith("mixed: "):
        return _mixed(row, nodes, cpus)
    filed = count(row["host_cpu_core_count_reported"]) or None
    reasons: list[tuple[str, bool]] = []
    if cores is None and filed and match.method == "unresolved" and filed <= MOST_CORES:
        cores = filed
        reasons.append((f"{filed} cores per socket as filed; the processor is not known", True))
    elif cores is None and filed:
        reasons.append((f"{filed} cores are filed; those of a socket are not public", True))
    elif cores and filed and filed != cores:
        is_cloud = "cloud" in (row["status_reported"] or "").casefold()
        reasons.append(_explain(filed, cores, cpus, is_cloud=is_cloud))
    return Host(cpus, _times(nodes, cpus), cores, _times(nodes, cpus, cores), tuple(reasons))
