"""Round declarations: aliases by round, scoring rules, selections."""

from __future__ import annotations

from datetime import date

import pytest

from gpurank.declared.rounds import UnknownRound, declared_rounds

ROUNDS = declared_rounds()


@pytest.mark.parametrize(
    ("round_id", "folder", "benchmark", "round_folder"),
    [
        ("v1.1", "ssd", "ssd", "ssd"),
        ("v2.0", "ssd", "retinanet", "ssd"),
        ("v5.0", "retinanet", "retinanet", "retinanet"),
        ("v4.1", "gnn", "rgat", "gnn"),
        ("v0.6", "mask", "maskrcnn", "maskrcnn"),
        ("v6.0", "gpt_oss_20b", "gpt_oss_20b", "gpt_oss_20b"),
        ("v9.9", "made_up", "made_up", "made_up"),
    ],
)
def test_a_folder_means_what_it_meant_in_its_round(
    round_id: str, folder: str, benchmark: str, round_folder: str
) -> None:
    assert ROUNDS.canonical_benchmark(round_id, folder) == benchmark
    assert ROUNDS.round_folder(round_id, folder) == round_folder


@pytest.mark.parametrize(
    ("round_id", "folder", "runs", "drop", "basis"),
    [
        ("v2.0", "unet3d", 40, 4, "declared"),
        ("v4.0", "gpt3", 3, 1, "declared"),
        ("v1.0", "dlrm", 5, 1, "declared"),
        ("v3.0", "dlrm_dcnv2", 10, 1, "declared"),
        ("v6.0", "deepseekv3_671b", 3, 1, "declared"),
        ("v6.1", "qwen35_397b_grpo", 3, 1, "declared"),
        ("v6.1", "dlrmv4", 10, 1, "declared"),
        ("v6.1", "dlrm_v4_hstu", 10, 1, "declared"),
        ("v7.3", "llama31_8b", 10, 1, "by_name"),
        ("v7.3", "made_up", None, 1, "unknown"),
    ],
)
def test_runs_needed_and_dropped(
    round_id: str, folder: str, runs: int | None, drop: int, basis: str
) -> None:
    rule = ROUNDS.rule(round_id, folder)
    assert (rule.runs_required, rule.drop, rule.basis) == (runs, drop, basis)


@pytest.mark.parametrize(
    ("round_id", "benchmark", "target", "direction"),
    [
        ("v0.5", "resnet", 0.749, "higher"),
        ("v0.6", "resnet", 0.759, "higher"),
        ("v0.6", "gnmt", 24.0, "higher"),
        ("v0.7", "gnmt", 0.240, "higher"),
        # mlcommons/training_policies and mlcommons/logging
        ("v6.0", "deepseekv3_671b", 3.6, "lower"),
        ("v6.0", "gpt_oss_20b", 3.34, "lower"),
        ("v6.0", "flux1", 0.586, "lower"),
        ("v6.0", "llama31_8b", 3.3, "lower"),
        ("v6.0", "llama31_405b", 5.6, "lower"),
        ("v6.0", "llama2_70b_lora", 0.925, "lower"),
        ("v6.0", "dlrm_dcnv2", 0.80275, "higher"),
        ("v6.1", "qwen35_397b_grpo", 0.69, "higher"),
        ("v6.1", "dlrmv4", 0.75, "higher"),
    ],
)
def test_targets_follow_the_round(
    round_id: str, benchmark: str, target: float, direction: str
) -> None:
    rule = ROUNDS.rule(round_id, benchmark)
    assert (rule.target, rule.direction, rule.basis) == (target, direction, "declared")


def test_when_rounds_were_published_and_are_expected() -> None:
    assert ROUNDS.get("v5.1").published_on == ROUNDS.expected_on("v5.1") == date(2025, 11, 12)
    assert ROUNDS.expected_on("v6.0") == date(2026, 6, 16)
    # two rounds a year
    assert ROUNDS.get("v6.1").published_on is None
    assert ROUNDS.expected_on("v6.1") == ROUNDS.next_round_expected_on() == date(2026, 12, 16)
    assert ROUNDS.expected_on("v7.0") == date(2027, 6, 16)
    assert ROUNDS.expected_on("v0.1") is None
    assert all(ROUNDS.get(name).published_on for name in ROUNDS.declared if name != "v6.1")


def test_an_undeclared_round_gets_its_repository_by_rule() -> None:
    declared, new = ROUNDS.get("v4.0"), ROUNDS.get("v7.0")
    assert declared.published_on == date(2024, 6, 12)
    assert new.repository.endswith("/training_results_v7.0")
    assert (new.is_declared, new.published_on) == (False, None)


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ("v3.0, v2.0", ("v2.0", "v3.0")),
        ("v1.0..v2.1", ("v1.0", "v1.1", "v2.0", "v2.1")),
        ("v9.0", ("v9.0",)),
        ("v0.5,v0.5..v0.6", ("v0.5", "v0.6")),
    ],
)
def test_selections(text: str, rounds: tuple[str, ...]) -> None:
    assert ROUNDS.select(text) == rounds


def test_all_and_ranges_take_what_a_mirror_holds() -> None:
    held = ("v4.0", "v10.0", "v4.1")
    assert ROUNDS.select("all", held) == ("v4.0", "v4.1", "v10.0")
    assert ROUNDS.select("v4.1..v11.0", held) == ("v4.1", "v10.0")


@pytest.mark.parametrize("text", ["", "4.0", "v4", "v4.0..", "latest", "v5.0..v4.0"])
def test_a_selection_that_names_nothing_says_so(text: str) -> None:
    with pytest.raises(UnknownRound):
        ROUNDS.select(text)


def test_titles_of_benchmarks() -> None:
    assert declared_rounds().title("resnet") == "ResNet-50 (image classification)"
    assert declared_rounds().title("not_declared") == "not_declared"
