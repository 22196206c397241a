"""What the page's script needs, as JSON that is safe inside a script element."""

from __future__ import annotations

import json
from typing import Any

from gpurank.answers.notes import public_url
from gpurank.method.settings import MethodSettings
from gpurank.pages.report.data import Page, Row
from gpurank.pages.report.words import chips_of, number

_LINKS = {0: "PCIe", 1: "bridge", 2: "direct links", 3: "switch"}


def embedded(value: Any) -> str:
    """JSON text that no content can break out of: ``<``, ``>``, ``&`` and line separators escaped.

    Floats keep their shortest exact form, so that a browser computes with the very same numbers.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def payload(page: Page) -> dict[str, Any]:
    """The list's numbers and details, in ranking order.

    ``rows``: n accelerators, t minutes, v variance of ln T, o place by result id (the last
    tie-break), s submitter, y system, c chips, a family, r round, d details
    (parallel to ``labels``), p path of the system description, w warnings, f common start of the
    log paths, l logs as [rest of the path, minutes, state, line]; state 1 kept, 0 dropped,
    2 not converged.
    """
    order = {name: place for place, name in enumerate(sorted(e["result_id"] for e in page.entries))}
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
    start = _common_start(files) if len(files) > 1 else ""
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
    """Label and text of a system's facts; None where nothing is known."""
    nodes, per_node = entry["node_count"], entry["accelerators_per_node"]
    chips = chips_of(entry)
    if nodes and per_node:
        chips += f" ({nodes:,} node{'s' if nodes != 1 else ''}, {per_node} a node)"
    cores = f"{entry['core_count']:,} cores" if entry["core_count"] else None
    sockets = f"{entry['socket_count']:,} sockets" if entry["socket_count"] else None
    host = ", ".join(text for text in (entry["host_cpu"], sockets, cores) if text)
    link = _LINKS.get(entry["link_rank"])
    form = entry["accelerator_form_factor"]
    place = {True: "on premises", False: "cloud"}.get(entry["is_on_premises"])
    status = ", ".join(text for text in (entry["availability"], place) if text)
    factor = entry["scaling_factor"]
    score = f"{entry['score_min']:.6f} min"
    if factor not in (None, 1) and entry["unscaled_min"] is not None:
        score += f" = {entry['unscaled_min']:.6f} min × {factor:g} (convergence scaling)"
    cluster = entry["cluster_label"]
    return [
        ("Filed as", entry["accelerator_reported"]),
        ("Accelerators", chips),
        ("Linked by", ", ".join(text for text in (link, form) if text) or None),
        ("Host processors", host or None),
        ("Memory a node", _unit(entry["memory_per_node_gib"], "GiB")),
        ("Network a node", _unit(entry["network_gbps_per_node"], "Gb/s")),
        ("Software", entry["framework_reported"] or entry["framework"]),
        ("Status", f"{status}; {entry['division']} division" if status else entry["division"]),
        ("Score", score),
        ("Samples a second", _throughput(entry["throughput_per_s"])),
        ("Energy a run", _unit(entry["energy_kwh"], "kWh, measured")),
        ("Cluster", f"{cluster}, {entry['cluster_name']}" if cluster else None),
        ("First filed in", None if entry["is_independent"] else entry["first_seen_round_id"]),
        ("Counted from", entry["count_explanation"]),
    ]  # fmt: skip


def _throughput(value: float | None) -> str | None:
    return number(value) if value else None


def _unit(value: float | None, unit: str) -> str | None:
    if value is None:
        return None
    return f"{value:,.4g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def _common_start(names: list[str]) -> str:
    """The longest start that all names share, letter by letter."""
    first, last = min(names), max(names)
    same = (place for place, sign in enumerate(first) if sign != last[place : place + 1])
    return first[: next(same, len(first))]
