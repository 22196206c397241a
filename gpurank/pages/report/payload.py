"""What a benchmark page's scripts need: the list's numbers and details as plain values."""

from __future__ import annotations

import os
from typing import Any

from gpurank.answers.notes import public_url
from gpurank.method.settings import MethodSettings
from gpurank.pages.numbers import count, number, plural, quantity
from gpurank.pages.report.data import Page, Row
from gpurank.pages.report.words import chips_of, site_of

# What the accelerators of a node are linked by, by link_rank of marts.system.
_LINKS = {0: "PCIe", 1: "bridge", 2: "direct links", 3: "switch"}


def payload(page: Page) -> dict[str, Any]:
    """Returns the list's numbers and details in ranking order.

    Keys are short because a list has hundreds of rows. ``rows``: n accelerators, t minutes,
    v variance of ln T, o position by result id (the last tie-break), s submitter, y system,
    c chips, a family, r round, d details (parallel to ``labels``), p path of the system
    description, w warnings, f common start of the log paths, l logs as [rest of the path, minutes,
    state, line]; state 1 kept, 0 dropped, 2 not converged.
    """
    result_ids = sorted(entry["result_id"] for entry in page.entries)
    order = {result_id: position for position, result_id in enumerate(result_ids)}
    rounds = sorted({entry["round_id"]: entry["source_commit"] for entry in page.entries}.items())
    return {
        "lambda": page.lambda_chips,
        "quantile": MethodSettings().tie_quantile,
        "pooled": page.key.round_id is None,
        "trees": {name: public_url(name, commit, "") for name, commit in rounds},
        "labels": [label for label, _ in _details(page.entries[0])],
        "rows": [_row(entry, order[entry["result_id"]]) for entry in page.entries],
    }


def _row(entry: Row, order: int) -> dict[str, Any]:
    files = [run["file"] for run in entry["runs"]]
    # Letter by letter, so that a common start of file names is shared too.
    start = os.path.commonprefix(files) if len(files) > 1 else ""  # noqa: RUF071
    issues = {issue["message"] for issue in entry["issues"] if issue["level"] != "info"}
    return {
        "id": entry["result_id"],
        "n": entry["accelerator_count"],
        "t": entry["score_min"],
        "v": entry["log_score_sd"] ** 2,
        "o": order,
        "s": entry["submitter"] or "unknown submitter",
        "y": entry["system_name"],
        "c": chips_of(entry),
        "r": entry["round_id"],
        "a": entry["accelerator_family"] or "",
        "d": [value for _, value in _details(entry)],
        "p": entry["system_path"],
        "w": sorted(issues),
        "f": start,
        "l": [
            [run["file"][len(start) :], _minutes(run), _state(run), run["start_line"]]
            for run in entry["runs"]
        ],
    }


def _minutes(run: Row) -> float | None:
    return round(run["run_min"], 4) if run["run_min"] is not None else None


def _state(run: Row) -> int:
    if not run["is_converged"]:
        return 2
    return int(bool(run["is_kept"]))


def _details(entry: Row) -> list[tuple[str, str | None]]:
    """Returns label and text of a system's facts; None where nothing is known."""
    nodes, per_node = entry["node_count"], entry["accelerators_per_node"]
    chips = chips_of(entry)
    if nodes and per_node:
        chips += f" ({plural(nodes, 'node')}, {per_node} per node)"
    cores = f"{count(entry['core_count'])} cores" if entry["core_count"] else None
    sockets = f"{count(entry['socket_count'])} sockets" if entry["socket_count"] else None
    link = _LINKS.get(entry["link_rank"])
    status = _joined(entry["availability"], site_of(entry))
    division = entry["division"]
    factor = entry["scaling_factor"]
    score = f"{entry['score_min']:.6f} min"
    if factor not in (None, 1) and entry["unscaled_min"] is not None:
        score += f" = {entry['unscaled_min']:.6f} min × {factor:g} (convergence scaling)"
    cluster = entry["cluster_label"]
    throughput = entry["throughput_per_s"]
    return [
        ("Filed as", entry["accelerator_reported"]),
        ("Accelerators", chips),
        ("Linked by", _joined(link, entry["accelerator_form_factor"])),
        ("Host processors", _joined(entry["host_cpu"], sockets, cores)),
        ("Memory per node", quantity(entry["memory_per_node_gib"], "GiB")),
        ("Network per node", quantity(entry["network_gbps_per_node"], "Gb/s")),
        ("Software", entry["framework_reported"] or entry["framework"]),
        ("Status", f"{status}; {division} division" if status else division),
        ("Score", score),
        ("Samples per second", number(throughput) if throughput else None),
        ("Energy per run", quantity(entry["energy_kwh"], "kWh, measured")),
        ("Cluster", f"{cluster}, {entry['cluster_name']}" if cluster else None),
        ("First filed in", None if entry["is_independent"] else entry["first_seen_round_id"]),
        ("Counted from", entry["count_explanation"]),
    ]


def _joined(*texts: str | None) -> str | None:
    return ", ".join(text for text in texts if text) or None
