"""Issues of single runs: what they say."""

from __future__ import annotations

from typing import Any

import pytest
from synthetic_logs import log, record, run

from gpurank.declared.rounds import BenchmarkRule, declared_rounds
from gpurank.logs.issues import Issues
from gpurank.logs.layout import classify
from gpurank.logs.records import read_log
from gpurank.logs.runs import run_facts

ROUNDS = declared_rounds()
PATH = "Acme/results/box/{}/result_0.txt"


def issues(lines: list[str], rule: BenchmarkRule) -> dict[str, str]:
    """Message by kind of one log's issues in v6.0."""
    collected = Issues()
    path = PATH.format(rule.benchmark)
    place = classify(path, ROUNDS.get("v6.0"))
    collected.add_run(path, place, run_facts(read_log(log(lines)), rule), rule, ROUNDS, "v6.0")
    return {row["kind"]: row["message"] for row in collected.rows()}


def lines_of(benchmark: str, quality: Any, *more: str) -> list[str]:
    return [*more, *run(quality=quality, benchmark=benchmark)]


LOWER = BenchmarkRule("new", "by_name", direction="lower")


@pytest.mark.parametrize(
    ("rule", "lines", "message"),
    [
        (
            ROUNDS.rule("v6.0", "llama31_8b"),
            lines_of("llama31_8b", 3.31),
            "its deciding evaluation 3.31 misses 3.3",
        ),
        # Without a target of the rules, the log's own one was compared and is named.
        (
            LOWER,
            lines_of("new", 3.4, record("target_accuracy", 1, 3.34)),
            "its deciding evaluation 3.4 misses 3.34, the target that the log itself states",
        ),
        (
            ROUNDS.rule("v3.0", "maskrcnn"),
            lines_of("maskrcnn", {"BBOX": 0.38, "SEGM": 0.33}),
            'its deciding evaluation {"BBOX": 0.38, "SEGM": 0.33} misses '
            "0.377 (boxes) or 0.339 (masks)",
        ),
    ],
)
def test_a_success_below_its_target_names_what_was_compared(
    rule: BenchmarkRule, lines: list[str], message: str
) -> None:
    found = issues(lines, rule)
    assert found["success_below_target"] == f"the run is filed as a success, but {message}"


def test_without_any_target_nothing_is_missed() -> None:
    assert "success_below_target" not in issues(lines_of("new", 3.4), LOWER)


def test_a_stop_that_stands_alone_contradicts_nothing() -> None:
    body = run(benchmark="llama31_8b", quality=3.2)[:-1]
    late = 1_600_000_000_000 + 600_000 + 90_000
    lines = [*body, record("run_stop", late, status="success")]
    found = issues(lines, ROUNDS.rule("v6.0", "llama31_8b"))
    assert found["clock_out_of_line"] == (
        "no other record confirms the time of run_stop: the nearest one is 90 s away; "
        "it is taken as filed"
    )
    before = 1_600_000_000_000 + 500_000
    lines = [*body, record("epoch_stop", before + 60_000), record("run_stop", before)]
    found = issues(lines, ROUNDS.rule("v6.0", "llama31_8b"))
    assert found["clock_out_of_line"] == (
        "the time of run_stop contradicts the records around it; it is taken as filed"
    )
