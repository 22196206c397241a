"""Invented lists for the tests of the report."""

from __future__ import annotations

import random
from datetime import date
from typing import Any

from gpurank.answers.notes import Source
from gpurank.pages.report.data import Page, PageKey, Row

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CLUSTER: Row = {
    "cluster_label": 1, "name": "single-server H100, best efficiency", "member_count": 2,
    "median_score_min": 10.5, "median_accelerator_count": 8.0,
    "median_accelerator_minutes": 84.0, "accelerator_minutes_ratio": 1.0, "share_4_to_16": 1.0,
    "leading_families": "H100 2", "reason": None,
}  # fmt: skip
LAW: Row = {
    "row_count": 40, "submitter_count": 6, "half_count": 100.0, "exponent": 1.0, "reason": None,
    "efficiency_64": 0.66, "efficiency_64_low": 0.6, "efficiency_64_high": 0.7,
    "efficiency_512": None, "efficiency_512_low": None, "efficiency_512_high": None,
}  # fmt: skip


def entry(index: int, **given: Any) -> Row:
    """Returns one ranked result; its costs follow from its time, count and λ."""
    row: Row = {
        "scope": "round", "round_id": "v4.0", "benchmark": "resnet", "rank": index + 1,
        "tie_group": index + 1, "result_id": f"v4.0/Acme/n{index:04d}/resnet",
        "score_min": 10.0 + index, "accelerator_count": 8, "lambda_chips": 8.0,
        "cluster_label": None, "cluster_name": None, "log_score_sd": 0.01,
        "best_for_lambda_low": None, "best_for_lambda_high": None, "probability_first": 0.1,
        "rank_low": index + 1, "rank_high": index + 3, "submitter": "Acme",
        "system_name": f"node{index}", "accelerator": "H100 SXM5 80GB", "node_count": 1,
        "host_cpu": "EPYC 7742", "availability": "available", "is_on_premises": True,
        "energy_kwh": None, "first_seen_round_id": "v4.0", "is_independent": True,
        "comparison_warning": None, "accelerator_family": "H100",
        "accelerator_reported": "NVIDIA H100", "framework": "PyTorch", "division": "closed",
        "unscaled_min": 10.0 + index, "scaling_factor": 1.0, "source_commit": COMMIT,
        "throughput_per_s": 1000.0, "system_path": "Acme/systems/n.json",
        "accelerators_per_node": 8, "socket_count": 2, "core_count": 128,
        "memory_per_node_gib": 1024.0, "network_gbps_per_node": 400.0, "link_rank": 3,
        "accelerator_form_factor": "SXM5", "framework_reported": "PyTorch 2", "issues": (),
        "count_explanation": None, "fleet": None,
        "runs": tuple(
            {
                "file": f"Acme/results/n{index}/resnet/result_{run}.txt", "run_min": 10.0 + run,
                "is_converged": True, "is_kept": run in (1, 2, 3), "start_line": 10 + run,
            }
            for run in range(5)
        ),
    }  # fmt: skip
    row.update(given)
    row["accelerator_minutes"] = row["score_min"] * row["accelerator_count"]
    row["delay_cost"] = row["score_min"] * (row["accelerator_count"] + row["lambda_chips"])
    return row


def page(entries: list[Row], round_id: str | None = "v4.0", **given: Any) -> Page:
    """Returns a page of these entries, which are in ranking order."""
    key = PageKey("resnet", round_id)
    summary = {
        "round_id": "v4.0", "published_on": date(2024, 6, 12), "source_commit": COMMIT,
        "repository": "https://github.com/mlcommons/training_results_v4.0",
        "version_id": "a-b", "folder_count": 9, "result_count": 8, "scored_count": 8,
        "ranked_count": 7, "quarantined_count": 1, "submitter_count": 1,
    }  # fmt: skip
    values: dict[str, Any] = {
        "sources": (Source("v4.0", COMMIT, "2026-01-02T00:00:00+00:00"),),
        "rounds": (summary,),
        **given,
    }
    return Page(key=key, entries=tuple(entries), **values)


def random_entries(count: int, seed: int = 1) -> list[Row]:
    """Returns entries with exact ties of cost and count, whose ids are in another order."""
    chance = random.Random(seed)
    entries = []
    for index in range(count):
        chips = chance.choice([4, 8, 8, 16, 64, 1024])
        minutes = chance.choice([chance.uniform(0.2, 90), 128 / (chips + 8), 128 / (chips + 8)])
        name = f"{chance.randrange(10**6):06d}"
        entries.append(
            entry(
                index,
                result_id=f"v4.0/Acme/{name}/resnet", system_name=name, score_min=minutes,
                accelerator_count=chips, log_score_sd=chance.uniform(0.001, 0.05),
                submitter=chance.choice(["Acme", "Zeta"]), cluster_label=chips % 5 + 1,
                cluster_name="a cluster", is_on_premises=chance.choice([True, False]),
            )
        )  # fmt: skip
    return sorted(entries, key=lambda e: (e["delay_cost"], e["accelerator_count"], e["result_id"]))
