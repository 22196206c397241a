"""Counts of a system: accelerators, sockets, cores, memory and network of a node.

The rule is nodes x accelerators per node, as filed. Departures from it are declared in
``warehouse/lookups/total_override.csv`` or follow from the description's shape, and are explained
in the row. Source: the system descriptions of the published rounds and their logs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import polars as pl

from gpurank.systems.accelerators import SLICE, identify_accelerator, models
from gpurank.systems.hosts import Host, read_host
from gpurank.systems.quantities import (
    count,
    is_network_lower_bound,
    memory_gib,
    network_gbps,
)
from gpurank.systems.spellings import is_blank, rows, whole

SCHEMA: dict[str, Any] = {
    "round_id": pl.String,
    "path": pl.String,
    "node_count": pl.Int64,
    "accelerators_per_node": pl.Int64,
    "accelerator_count": pl.Int64,
    "accelerator_memory_gib": pl.Float64,
    "accelerator_domain_size": pl.Int64,
    "link_rank": pl.Int64,
    "is_socketed": pl.Boolean,
    "socket_count": pl.Int64,
    "cpus_per_node": pl.Int64,
    "cores_per_socket": pl.Int64,
    "core_count": pl.Int64,
    "memory_per_node_gib": pl.Float64,
    "network_gbps_per_node": pl.Float64,
    "explanation": pl.String,
    "is_low_confidence": pl.Boolean,
    "count_missing_reason": pl.String,
}
ENTRY_SHAPES = frozenset(("v05_entry", "v06_kv"))
LEAST_NODE_MEMORY_GIB = 8.0

_PREFIX = re.compile(r"(\d+)x(?=[A-Za-z])")
_NAMED_SLICE = re.compile(r"tpu[\s_-]?v(\d\w?)[\s_-](\d+)(?!\w)", re.I)
_NVL = re.compile(r"\bNVL(\d+)\b", re.I)


@dataclass(slots=True)
class _Total:
    """One row while it is built: values, the reasons behind them, and whether one is doubtful."""

    values: dict[str, Any]
    reasons: list[str] = field(default_factory=list)
    is_low: bool = False

    def explain(self, reason: str, *, is_low: bool = False) -> None:
        """Adds a reason; ``is_low`` marks the whole row as of low confidence."""
        self.reasons.append(reason)
        self.is_low = self.is_low or is_low

    def record(self) -> dict[str, Any]:
        record = dict.fromkeys(SCHEMA)
        return (
            record
            | self.values
            | {
                "explanation": "; ".join(self.reasons) or None,
                "is_low_confidence": self.is_low,
            }
        )


@cache
def _overrides() -> dict[tuple[str, str, str], dict[str, str]]:
    return {
        (row["round_id"], row["submitter_folder"], row["system_folder"]): row
        for row in rows("total_override")
    }


def _filed_counts(row: dict[str, Any], total: _Total) -> tuple[int | None, int | None]:
    """Returns (nodes, accelerators per node) as filed, with the reason where one is missing."""
    filed = {
        "node": row["node_count_reported"],
        "accelerator": row["accelerators_per_node_reported"],
    }
    nodes, per_node = count(filed["node"]), count(filed["accelerator"])
    if nodes == 0:
        nodes = None
    names_none = is_blank(row["accelerator_reported"])
    says_none = names_none and row["accelerator_reported"] is not None
    if per_node is None and says_none and is_blank(filed["accelerator"]):
        per_node = 0
    if row["parse_dialect"] == "unreadable":
        total.values["count_missing_reason"] = "the description could not be read"
    elif nodes is None:
        total.values["count_missing_reason"] = f"the number of nodes is filed as {filed['node']!r}"
    elif per_node is None:
        reason = f"the accelerators per node are filed as {filed['accelerator']!r}"
        total.values["count_missing_reason"] = reason
    elif per_node == 0 and not names_none:
        reason = f"0 accelerators per node are filed, but {row['accelerator_reported']!r} is named"
        total.values["count_missing_reason"] = reason
        per_node = None
    elif per_node and names_none:
        total.explain(f"{per_node} accelerators per node, but no model is named", is_low=True)
    return nodes, per_node


def _slice_counts(row: dict[str, Any], nodes: int | None, total: _Total) -> tuple[int, int] | None:
    """Returns (chips, chips per node) of an accelerator named like tpuv2-512, by its cores."""
    part = SLICE.fullmatch(row["accelerator_reported"] or "")
    if part is None or row["parse_dialect"] not in ENTRY_SHAPES or not nodes:
        return None
    model = identify_accelerator(row["accelerator_reported"], row["round_id"]).values.get(
        "accelerator"
    )
    cores = whole(models()[model]["cores_per_chip"]) if model else None
    if not cores or int(part[2]) % (cores * nodes):
        return None
    chips = int(part[2]) // cores
    total.explain(
        f"the filed {row['accelerators_per_node_reported']} are the cores of the whole slice "
        f"{row['accelerator_reported']}; a chip has {cores} cores"
    )
    return chips, chips // nodes


def _count(row: dict[str, Any], total: _Total) -> None:
    """Fills in nodes and accelerators."""
    nodes, per_node = _filed_counts(row, total)
    key = (row["round_id"], row["submitter_folder"], row["system_folder"])
    declared = _overrides().get(key)
    accelerators = nodes * per_node if nodes is not None and per_node is not None else None
    if declared is not None:
        nodes, per_node = int(declared["node_count"]), int(declared["accelerators_per_node"])
        accelerators = nodes * per_node
        total.values["count_missing_reason"] = None
        total.explain(declared["reason"])
    elif part := _slice_counts(row, nodes, total):
        accelerators, per_node = part
    elif accelerators == 0:
        total.explain("a system without accelerators: its processors trained")
    total.values |= {
        "node_count": nodes,
        "accelerators_per_node": per_node,
        "accelerator_count": accelerators,
    }
    if accelerators:
        _check_names(row, total, nodes or 0, per_node or 0, accelerators)


def _check_names(
    row: dict[str, Any], total: _Total, nodes: int, per_node: int, accelerators: int
) -> None:
    """Explains numbers in names that count something else, and doubts those that fit nothing."""
    name = row["system_folder"] or ""
    if part := _NAMED_SLICE.search(name):
        number = int(part[2])
        cores = whole(models().get(f"TPU v{part[1]}", {}).get("cores_per_chip", "")) or 1
        if number == cores * accelerators and cores > 1:
            total.explain(f"the {number} of the name counts cores; a chip has {cores}")
        elif number not in (accelerators, cores * accelerators):
            total.explain(
                f"the name says {number}, the description {accelerators} chips", is_low=True
            )
    elif (prefix := _PREFIX.match(name)) and nodes > 1:
        number = int(prefix[1])
        if number == accelerators:
            total.explain(f"the {number}x of the name counts accelerators, not nodes")
        elif number not in (nodes, per_node):
            total.explain(f"the {number}x of the name is neither nodes nor accelerators")
    if nodes == 1 and per_node > 32:
        total.explain("the whole machine is filed as one node", is_low=True)


def _chip(row: dict[str, Any], total: _Total) -> None:
    """Fills in memory, link and domain of the accelerator."""
    filed = memory_gib(row["accelerator_memory_reported"])
    match = identify_accelerator(row["accelerator_reported"], row["round_id"], filed)
    fact = models().get(match.values.get("accelerator", ""), {})
    memory = match.values.get("memory_gb")
    if memory and filed and not 0.8 <= filed / memory <= 1.25:
        total.explain(
            f"accelerator memory is filed as {row['accelerator_memory_reported']!r}; "
            f"{match.values['accelerator']} has {memory:g}"
        )
    total.values |= {
        "accelerator_memory_gib": memory if memory else filed,
        "is_socketed": match.values.get("is_socketed"),
        "link_rank": _link(row, match.values, fact, total),
    }
    per_node = total.values["accelerators_per_node"]
    accelerators = total.values["accelerator_count"]
    if not accelerators:
        return
    named = _NVL.search(row["accelerator_reported"] or "") or _NVL.search(
        row["system_name_reported"] or ""
    )
    domain = whole(fact.get("domain_size", ""))
    if domain and named:
        domain = int(named[1])
    elif total.values["node_count"] == 1:
        domain = None
    if domain and domain > per_node:
        total.explain(
            f"a node is a tray of {per_node}; {domain} accelerators share one NVLink domain"
        )
        per_node = domain
    total.values["accelerator_domain_size"] = per_node


def _link(
    row: dict[str, Any], values: dict[str, Any], fact: dict[str, str], total: _Total
) -> int | None:
    """Returns the link rank: the chip's own, refined by the filed interconnect."""
    rank: int | None = values.get("link_rank")
    filed = (row["accelerator_interconnect_reported"] or "").casefold()
    per_node = total.values["accelerators_per_node"]
    if fact.get("can_bridge") == "true":
        if "nvlink" in filed and "switch" not in filed:
            return 1
        return 0 if "pcie" in filed else rank
    small = whole(fact.get("link_rank_small_node", ""))
    is_cloud = "cloud" in (row["status_reported"] or "").casefold()
    if small is not None and "switch" not in filed and not is_cloud and 0 < (per_node or 0) <= 4:
        total.explain(
            f"{per_node} {values['accelerator']} on one board are linked directly, without a switch"
        )
        return small
    if values.get("vendor") == "NVIDIA" and values.get("is_socketed") and "nvswitch" in filed:
        return 3
    return rank


def _system_row(row: dict[str, Any], doubtful: frozenset[tuple[str, str]]) -> dict[str, Any]:
    total = _Total({"round_id": row["round_id"], "path": row["path"]})
    _count(row, total)
    _chip(row, total)
    is_entry = row["parse_dialect"] in ENTRY_SHAPES
    host: Host = read_host(row, total.values["node_count"], is_node_total=is_entry)
    memory = memory_gib(row["host_memory_reported"], "GB" if is_entry else None)
    if memory is not None and memory < LEAST_NODE_MEMORY_GIB:
        total.explain(f"host memory {row['host_memory_reported']!r} is too small to be right")
        memory = None
    filed_networks = (row["host_networking_reported"], row["host_network_card_count_reported"])
    network = next((text for text in filed_networks if network_gbps(text) is not None), None)
    if is_network_lower_bound(network):
        total.explain("the speed of some network ports is not filed; there is more", is_low=True)
    total.values |= {
        "socket_count": host.socket_count,
        "cpus_per_node": host.cpus_per_node,
        "cores_per_socket": host.cores_per_socket,
        "core_count": host.core_count,
        "memory_per_node_gib": memory,
        "network_gbps_per_node": network_gbps(network),
    }
    for reason, is_low in host.reasons:
        total.explain(reason, is_low=is_low)
    if (row["round_id"], row["path"]) in doubtful:
        total.explain(
            "a field is filed twice with different values; the last one counts", is_low=True
        )
    return total.record()


def totals(systems: pl.DataFrame, issues: pl.DataFrame | None = None) -> pl.DataFrame:
    """Returns identity.system_total: one row per row of raw.system, in its order.

    Args:
        systems: raw.system with round_id.
        issues: raw.issue with round_id (kind, source_file), where descriptions were found odd.

    Returns:
        The columns of SCHEMA. accelerator_count counts physical chips and is 0 for systems
        without; what is not known is null, with count_missing_reason for the accelerators.
    """
    doubtful: frozenset[tuple[str, str]] = frozenset()
    if issues is not None:
        filed_twice = issues.filter(pl.col("kind") == "system_duplicate_key")
        doubtful = frozenset(filed_twice.select("round_id", "source_file").iter_rows())
    records = [_system_row(row, doubtful) for row in systems.iter_rows(named=True)]
    return pl.DataFrame(records, schema=SCHEMA)
