"""The published rounds, read whole: scores from run facts equal the official ones.

The score is computed here by the published rule (olympic mean times scaling factor), apart from
the SQL models, so that a fault of the reader cannot hide behind them.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gpurank.declared.rounds import declared_rounds
from gpurank.logs.round_tables import read_round
from tasks.sources.snapshot import files, pin

pytestmark = pytest.mark.real

QUICK = ("v0.5", "v4.1", "v5.0")
ALL = ("v0.5", "v0.6", "v0.7", "v1.0", "v2.0", "v3.0", "v4.0", "v4.1", "v5.0")
TOLERANCE = 1e-4
# The official tool drops a successful run there for one corrupted line or a long initialisation.
KNOWN = {
    ("v4.1", "Lambda", "lambda_1cc_n2_H100-SXM-80GB_ngc24.04_nemo", "stable_diffusion"),
    ("v4.1", "Lambda", "lambda_1cc_n4_H100-SXM-80GB_ngc24.04_nemo", "stable_diffusion"),
    ("v4.1", "Lambda", "lambda_1cc_n4_H100-SXM-80GB_ngc24.04_nemo", "llama2_70b_lora"),
    ("v5.0", "tinycorp", "tinybox_green", "bert"),
}
Key = tuple[str, str, str, str]
Tables = dict[str, list[dict[str, Any]]]
_read: dict[str, Tables] = {}


def tables(shared: Path, round_id: str) -> Tables:
    """Every raw table but event of a published round; read once a session."""
    if round_id not in _read:
        rounds = declared_rounds()
        snapshot = pin(round_id, shared / "rounds")
        found: dict[str, list[pa.RecordBatch]] = defaultdict(list)
        events = {"rows": 0, "texts": 0}
        for name, batch in read_round(files(snapshot, shared), rounds.get(round_id), rounds):
            if name == "event":
                events["rows"] += batch.num_rows
            else:
                found[name].append(batch)
        _read[round_id] = {
            name: [row for batch in batches for row in batch.to_pylist()]
            for name, batches in found.items()
        } | {"event": [events]}
    return _read[round_id]


def olympic(minutes: list[float], failed: int, drop: int) -> float | None:
    """Mean without the ``drop`` fastest and slowest; failed runs are the slowest."""
    kept = sorted(minutes)[drop : len(minutes) - (drop - failed)]
    return sum(kept) / len(kept) if kept else None


def scores(found: Tables, round_id: str) -> dict[Key, float | None]:
    rounds = declared_rounds()
    factors = {row["folder_id"]: row["scaling_factor"] for row in found["scaling"]}
    runs = defaultdict(list)
    for row in found["run"]:
        runs[row["folder_id"]].append(row)
    result: dict[Key, float | None] = {}
    for folder in found["folder"]:
        if folder["quarantine_reason"] is not None:
            continue
        rule = rounds.rule(round_id, folder["benchmark_folder"])
        all_runs = sorted(runs[folder["folder_id"]], key=lambda row: row["run_number"] or 0)
        converged = [row for row in all_runs if row["is_converged"]]
        failed = len(all_runs) - len(converged)
        if rule.take_first_converged:
            converged, failed = converged[: rule.runs_required], 0
        score = None
        if failed <= rule.max_nonconverged:
            score = olympic([row["duration_ms"] / 60_000 for row in converged], failed, rule.drop)
        if score is not None:
            score *= factors.get(folder["folder_id"], 1.0)
        key = (round_id, folder["submitter_folder"], folder["system_folder"], rule.benchmark)
        assert key not in result, "two folders are one result"
        result[key] = score
    return result


def truth(shared: Path, round_id: str) -> dict[Key, float | None]:
    rounds = declared_rounds()
    with (shared / "truth" / "scores.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["round_id"] == round_id]
    return {
        (
            round_id,
            row["submitter_folder"],
            row["system"],
            rounds.canonical_benchmark(round_id, row["benchmark"]),
        ): float(row["score_min"]) if row["score_min"] else None
        for row in rows
    }


def check(shared: Path, round_id: str) -> None:
    found, official = scores(tables(shared, round_id), round_id), truth(shared, round_id)
    assert official.keys() <= found.keys()
    assert not [key for key in found.keys() - official.keys() if found[key] is not None]
    differing = set()
    for key, score in official.items():
        mine = found[key]
        if score is None or mine is None:
            same = score is mine
        else:
            same = abs(mine / score - 1) <= TOLERANCE
        if not same:
            differing.add(key)
    assert differing == {key for key in KNOWN if key[0] == round_id}
    assert_reconciled(tables(shared, round_id))


def assert_reconciled(found: Tables) -> None:
    """Folders in the paths, counted without the reader's layout, are the rows."""
    seen = set()
    for row in found["source_file"]:
        before, _, below = row["path"].partition("/results/")
        parts = below.split("/")
        name = parts[-1]
        if len(parts) > 2:
            seen.add(f"{before}/results/{parts[0]}/{parts[1]}")
        is_log = name.startswith("result_") and name.endswith(".txt")
        if is_log and (len(parts) == 2 or (len(parts) > 3 and parts[2] != "power")):
            seen.add(row["path"].rpartition("/")[0])
    assert seen == {row["folder_id"] for row in found["folder"]}


@pytest.mark.parametrize("round_id", QUICK)
def test_scores_equal_the_official_ones(shared: Path, round_id: str) -> None:
    check(shared, round_id)


@pytest.mark.slow
@pytest.mark.parametrize("round_id", [name for name in ALL if name not in QUICK])
def test_scores_of_every_round_equal_the_official_ones(shared: Path, round_id: str) -> None:
    check(shared, round_id)


def test_every_result_log_is_a_run(shared: Path) -> None:
    for round_id in QUICK:
        found = tables(shared, round_id)
        logs = [row["path"] for row in found["source_file"] if row["kind"] == "result_log"]
        assert sorted(logs) == sorted(row["path"] for row in found["run"])
        records = sum(row["record_count"] for row in found["source_file"])
        assert records == found["event"][0]["rows"]


def test_power_agrees_with_the_published_rule(shared: Path) -> None:
    """v5.0 has one submission with power: 35 runs on one node each, 0.94 efficient."""
    rows = tables(shared, "v5.0")["power"]
    assert len(rows) == 35
    assert {row["device_kind"] for row in rows} == {"node"}
    assert {row["conversion_efficiency"] for row in rows} == {0.94}
    mean_w = [row["energy_j"] / row["window_s"] for row in rows]
    assert all(3_000 < power < 20_000 for power in mean_w)


def test_counts_that_were_found_by_hand(shared: Path) -> None:
    """Counts of the published rounds that were made with other tools."""
    old, new = tables(shared, "v0.5"), tables(shared, "v5.0")
    assert len(old["run"]) == 600
    assert sum(row["convergence_basis"] == "target" for row in old["run"]) == 55
    assert sum(row["convergence_basis"] == "aborted" for row in old["run"]) == 96
    assert len(new["run"]) == 1717
    assert sum(row["convergence_basis"] == "aborted" for row in new["run"]) == 4
    assert sum(row["convergence_basis"] == "no_run_stop" for row in new["run"]) == 5
    assert len(new["scaling"]) == 101
    assert sum(row["undecodable_count"] for row in tables(shared, "v4.1")["run"]) == 3


@pytest.mark.slow
def test_node_energy_agrees_with_the_submitted_totals(shared: Path) -> None:
    """v4.0: what the submitter added up by itself is the nodes' energy over their windows."""
    rows = tables(shared, "v4.0")["power"]
    nodes: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        if row["device_kind"] == "node":
            nodes[row["folder_id"], row["run_stem"]] += row["energy_j"]
    totals = {
        (row["folder_id"], row["run_stem"]): row["energy_j"]
        for row in rows
        if row["device_kind"] == "total"
    }
    assert len(totals) == 26
    for run, total in totals.items():
        assert nodes[run] == pytest.approx(total, rel=0.005)
