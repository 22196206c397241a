"""Lines that a round lacks in the declared files."""

from __future__ import annotations

import csv

import pytest
import yaml

from gpurank.declared.missing import SeenRun, missing_declarations, missing_lines
from gpurank.declared.rounds import Rounds, declared_rounds

ROUNDS = declared_rounds()


def runs(benchmark: str, count: int = 5, **values: object) -> list[SeenRun]:
    """Converged runs of two results of one benchmark, at loss 2.9 and 3.0."""
    fields = {"is_converged": True, "quality": 2.9, "target_reported": 3.0, **values}
    return [
        SeenRun(f"{name}/results/s/{benchmark}", benchmark, **fields)  # type: ignore[arg-type]
        for name in "AB"
        for _ in range(count)
    ]


def test_a_fully_declared_round_lacks_nothing() -> None:
    seen = runs("llama31_8b") + runs("dlrmv4")
    assert missing_declarations("v6.1", seen, ["llama31_8b", "dlrmv4"], ROUNDS) == ""


def test_an_undeclared_round_with_a_new_benchmark_gets_every_line() -> None:
    seen = runs("world_model_9t", has_samples_count=True)
    lines = missing_lines("v7.0", seen, ["llama31_8b"], ROUNDS)
    assert [(line.path, line.place, line.line) for line in lines] == [
        # v6.0 of 2026-06-16, then v6.1 half a year later, then v7.0 another half
        ("warehouse/rounds.yml", "under rounds",
         "  v7.0: {published_on: 2027-06-16, benchmarks: [world_model_9t]}"),
        ("warehouse/rounds.yml", "under benchmarks",
         "  world_model_9t: {runs: 5, drop: 1, max_nonconverged: 1, direction: lower, "
         "target: 3}"),
        ("warehouse/rounds.yml", "under comparable_spans",
         "  - {benchmark: world_model_9t, first: v7.0, last: v7.0}"),
        ("warehouse/lookups/samples.csv", "as a new row",
         "world_model_9t,v7.0,,1,samples_count,0,,0,none,1,,,true,"),
    ]  # fmt: skip


def test_pasted_lines_are_declarations_and_nothing_is_missing_then() -> None:
    seen = runs("world_model_9t", has_samples_count=True)
    lines = missing_lines("v7.0", seen, [], ROUNDS)
    document = dict(ROUNDS.document)
    for line in lines:
        if line.path.endswith(".csv"):
            (row,) = csv.reader([line.line])
            assert len(row) == 14
            continue
        key = line.place.removeprefix("under ")
        pasted = yaml.safe_load(line.line)
        document[key] = (
            [*document[key], *pasted] if isinstance(pasted, list) else {**document[key], **pasted}
        )
    then = Rounds(document)
    rule = then.rule("v7.0", "world_model_9t")
    assert (rule.basis, rule.runs_required, rule.direction, rule.target) == (
        "declared", 5, "lower", 3.0,
    )  # fmt: skip
    assert missing_lines("v7.0", seen, ["world_model_9t"], then) == ()


@pytest.mark.parametrize(
    ("values", "rule", "check"),
    [
        ({"quality": 3.1}, "direction: higher, target: 3", "usual ones"),
        ({"target_reported": None}, "max_nonconverged: 1",
         "the logs do not state direction and target"),
        ({"is_converged": False}, "target: 3", "do not state direction"),
    ],
)  # fmt: skip
def test_a_line_says_what_the_logs_say_and_no_more(
    values: dict[str, object], rule: str, check: str
) -> None:
    (line,) = [
        line
        for line in missing_lines("v6.0", runs("new", **values), ["new"], ROUNDS)
        if line.place == "under benchmarks"
    ]
    assert line.line.endswith(f"{rule}}}")
    assert check in line.check


def test_a_known_benchmark_that_the_round_does_not_list() -> None:
    text = missing_declarations("v6.1", runs("dlrm_dcnv2"), ["dlrm_dcnv2"], ROUNDS)
    assert text == (
        "# warehouse/rounds.yml, in the entry of v6.1 under rounds:\n"
        "# check first: adds dlrm_dcnv2\n"
        "benchmarks: [deepseekv3_671b, dlrm_dcnv2, dlrmv4, flux1, gpt_oss_20b, "
        "llama2_70b_lora, llama31_8b, qwen35_397b_grpo]\n"
        "\n"
        "# warehouse/rounds.yml, under comparable_spans:\n"
        "# check first: or extend the benchmark's last span, where the rules let results be "
        "compared\n"
        "  - {benchmark: dlrm_dcnv2, first: v6.1, last: v6.1}"
    )


def test_a_benchmark_without_a_target_or_a_counter() -> None:
    rules = {**ROUNDS.document["benchmarks"]["llama31_8b"]}
    del rules["target"]
    benchmarks = {**ROUNDS.document["benchmarks"], "llama31_8b": rules}
    rounds = Rounds({**ROUNDS.document, "benchmarks": benchmarks})
    lines = missing_lines("v6.0", runs("llama31_8b"), [], rounds)
    assert [(line.place, line.line) for line in lines] == [
        ("in the entry of llama31_8b under benchmarks", "target: 3"),
        ("as a new row", "llama31_8b,v6.0,,1,none,,,0,none,,,,false,"),
    ]


@pytest.mark.parametrize(
    ("counter", "row"),
    [
        ("has_step_num", "new,v6.0,,1,step_num,0,,0,global_batch_size,1,,,true,"),
        ("has_epoch_num", "new,v6.0,,1,epoch_num,0,,0,train_samples,1,,,true,"),
    ],
)
def test_a_counter_becomes_a_row_of_samples_csv(counter: str, row: str) -> None:
    lines = missing_lines("v6.0", runs("new", **{counter: True}), [], ROUNDS)
    assert [line.line for line in lines if line.path.endswith("samples.csv")] == [row]
