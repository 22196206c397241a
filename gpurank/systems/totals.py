"""Counts of a system: accelerators, sockets, cores, memory and network of a node.

The rule is nodes x accelerators per node, as filed. What departs from it is declared in
``warehouse/lookups/total_override.csv`` or follows from the description's shape, and is explained
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
from gpurank.systems.quantities import count, memory_gib, network_gbps
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
    """One row in the making: values, the reasons behind them and whether one is doubtful."""

    values: dict[str, Any]
    reasons: list[str] = field(default_factory=list)
    is_low: bool = False

    def say(self, reason: str, *, is_low: bool = False) -> None:
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
    """(nodes, accelerators of a node) as filed, with the reason where one is missing."""
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
        reason = f"the accelerators of a node are filed as {filed['accelerator']!r}"
        total.values["count_missing_reason"] = reason
    elif per_node == 0 and not names_none:
        reason = f"0 accelerators a node are filed, but {row['accelerator_reported']!r} is named"
        total.values["count_missing_reason"] = reason
        per_node = None
    elif per_node and names_none:
        total.say(f"{per_node} accelerators a node, but no model is named", is_low=True)
    return nodes, per_node


def _slice_counts(row: dict[str, Any], nodes: int | None, total: _Total) -> tuple[int, int] | None:
    """(chips, chips of a node) of an accelerator named like tpuv2-512, which counts cores."""
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
    total.say(
        f"the filed {row['accelerators_per_node_reported']} are the cores of the whole slice "
        f"{row['accelerator_reported']}; a chip has {cores} cores"
    )
    return chips, chips // nodes


def _count(row: dict[str, Any], total: _Total) -> None:
    """Nodes and accelerators into the row."""
    nodes, per_node = _filed_counts(row, total)
    key = (row["round_id"], row["submitter_folder"], row["system_folder"])
    declared = _overrides().get(key)
    accelerators = nodes * per_node if nodes is not None and per_node is not None else None
    if declared is not None:
        nodes, per_node = int(declared["node_count"]), int(declared["accelerators_per_node"])
        accelerators = nodes * per_node
        total.values["count_missing_reason"] = None
        total.say(declared["reason"])
    elif part := _slice_counts(row, nodes, total):
        accelerators, per_node = part
    elif accelerators == 0:
        total.say("a system without accelerators: its processors trained")
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
    """Explain numbers in names that count something else; doubt those that fit nothing."""
    name = row["system_folder"] or ""
    if part := _NAMED_SLICE.search(name):
        number = int(part[2])
        cores = whole(models().get(f"TPU v{part[1]}", {}).get("cores_per_chip", "")) or 1
        if number == cores * accelerators and cores > 1:
            total.say(f"the {number} of the name counts cores; a chip has {cores}")
        elif number not in (accelerators, cores * accelerators):
            total.say(f"the name says {number}, the description {accelerators} chips", is_low=True)
    elif (prefix := _PREFIX.match(name)) and nodes > 1:
        number = int(prefix[1])
        if number == accelerators:
            total.say(f"the {number}x of the name counts accelerators, not nodes")
        elif number not in (nodes, per_node):
            total.say(f"the {number}x of the name is neither nodes nor accelerators")
    if nodes == 1 and per_node > 32:
        total.say("the whole machine is filed as one node", is_low=True)


def _chip(row: dict[str, Any], total: _Total) -> None:
    """Fill in memory, link and domain of the accelerator."""
    filed = memory_gib(row["accelerator_memory_reported"])
    match = identify_accelerator(row["accelerator_reported"], row["round_id"], filed)
    fact = models().get(match.values.get("accelerator", ""), {})
    memory = match.values.get("memory_gb")
    if memory and filed and not 0.8 <= filed / memory <= 1.25:
        total.say(
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
        total.say(f"a node is a tray of {per_node}; {domain} accelerators share one NVLink domain")
        per_node = domain
    total.values["accelerator_domain_size"] = per_node


def _link(
    row: dict[str, Any], values: dict[str, Any], fact: dict[str, str], total: _Total
) -> int | None:
    """Link rank: the chip's own, refined where the filed interconnect is telling."""
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
        total.say(
            f"{per_node} {values['accelerator']} on one board are linked directly, without a switch"
        )
        return small
    if values.get("vendor") == "NVIDIA" and values.get("is_socketed") and "nvswitch" in filed:
        return 3
    return rank


def _one(row: dict[str, Any], doubtful: frozenset[tuple[str, str]]) -> dict[str, Any]:
    total = _Total({"round_id": row["round_id"], "path": row["path"]})
    _count(row, total)
    _chip(row, total)
    is_entry = row["parse_dialect"] in ENTRY_SHAPES
    host: Host = read_host(row, total.values["node_count"], is_node_total=is_entry)
    memory = memory_gib(row["host_memory_reported"], "GB" if is_entry else None)
    if memory is not None and memory < LEAST_NODE_MEMORY_GIB:
        total.say(f"host memory {row['host_memory_reported']!r} is too little to be meant")
        memory = None
    filed_network = (row["host_networking_reported"], row["host_network_card_count_reported"])
    speeds = (network_gbps(text) for text in filed_network)
    total.values |= {
        "socket_count": host.socket_count,
        "cpus_per_node": host.cpus_per_node,
        "cores_per_socket": host.cores_per_socket,
        "core_count": host.core_count,
        "memory_per_node_gib": memory,
        "network_gbps_per_node": next((speed for speed in speeds if speed is not None), None),
    }
    for reason, is_low in host.reasons:
        total.say(reason, is_low=is_low)
    if (row["round_id"], row["path"]) in doubtful:
        total.say("a field is filed twice with different values; the last one counts", is_low=True)
    return total.record()


def totals(systems: pl.DataFrame, issues: pl.DataFrame | None = None) -> pl.DataFrame:
    """identity.system_total: one row a row of raw.system, in its order.

    Args:
        systems: raw.system with round_id.
        issues: raw.issue with round_id (kind, source_file), where descriptions were found odd.

    Returns:
        The columns of SCHEMA. accelerator_count counts physical chips and is 0 for systems
        without; what cannot be told is null, with count_missing_reason for the accelerators.
    """
    doubtful: frozenset[tuple[str, str]] = frozenset()
    if issues is not None:
        twice = issues.filter(pl.col("kind") == "system_duplicate_key")
        doubtful = frozenset(twice.select("round_id", "source_file").iter_rows())
    records = [_one(row, doubtful) for row in systems.iter_rows(named=True)]
    return pl.DataFrame(records, schema=SCHEMA)
