"""Facts of one run: the attempt that counts, its outcome, its deciding evaluation."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_logs import log, record, run

from gpurank.declared.rounds import BenchmarkRule
from gpurank.logs.records import read_log
from gpurank.logs.runs import RunFacts, run_facts

RESNET = BenchmarkRule("resnet", "declared", 5, direction="higher", target=0.759)
MASKRCNN = BenchmarkRule(
    "maskrcnn", "declared", 5, direction="higher", target=0.377, target_second=0.339
)
DIFFUSION = BenchmarkRule(
    "stable_diffusion", "declared", 10, direction="lower", target=90, metric="FID",
    second_metric="CLIP", target_second=0.15,
)  # fmt: skip
LINES = (
    "start_line",
    "stop_line",
    "quality_line",
    "clock_doubts",
    "record_count",
    "undecodable_count",
)
START = 1_600_000_000_000
SECOND = run(20, start_ms=START + 3_600_000)


def facts(lines: list[str] | bytes, rule: BenchmarkRule = RESNET) -> RunFacts:
    return run_facts(read_log(lines if isinstance(lines, bytes) else log(lines)), rule)


def ended(value: Any = None, **metadata: Any) -> list[str]:
    """A run without an evaluation whose run_stop holds these."""
    return [record("run_start", START), record("run_stop", START + 60_000, value, **metadata)]


def test_a_plain_run() -> None:
    found = facts(run(12.5))
    assert found.duration_ms == 750_000
    assert (found.duration_source, found.convergence_basis) == ("run_stop", "status")
    assert found.is_converged
    assert (found.start_line, found.stop_line, found.quality_line) == (5, 8, 7)
    assert (found.quality, found.epoch_num, found.first_epoch_num) == (0.76, 2, 1)
    assert (found.global_batch_size, found.seed) == (256, "7")
    assert (found.benchmark_reported, found.submitter_reported) == ("resnet", "Example")


@pytest.mark.parametrize(
    ("value", "metadata", "is_converged", "basis"),
    [
        (None, {"status": "success"}, True, "status"),
        (0.7612, {"status": "success"}, True, "status"),
        ("succuss", {}, True, "value"),
        ("succuss", {"status": "success"}, True, "status"),
        ({"success": True}, {}, True, "value"),
        ({"success": "true"}, {}, True, "value"),
        ({"status": "success"}, {}, True, "value"),
        (None, {"status": "SUCCESS "}, True, "status"),
        (None, {"status": "aborted"}, False, "aborted"),
        (None, {"status": "abort"}, False, "aborted"),
        (None, {"status": "fail"}, False, "aborted"),
        (None, {"status": "Aborted"}, False, "aborted"),
        ({"success": False}, {}, False, "aborted"),
        ({"success": "false"}, {}, False, "aborted"),
        (False, {}, False, "aborted"),
        (None, {"status": "sucxess"}, False, "unknown_status"),
    ],
)
def test_outcomes_as_filed(
    value: Any, metadata: dict[str, Any], is_converged: bool, basis: str
) -> None:
    outcome = facts(ended(value, **metadata))
    assert (outcome.is_converged, outcome.convergence_basis) == (is_converged, basis)
    assert outcome.status_reported == metadata.get("status", outcome.status_reported)


@pytest.mark.parametrize(
    ("quality", "rule", "is_converged", "basis"),
    [
        (0.759, RESNET, True, "target"),
        (0.7589, RESNET, False, "target_missed"),
        (0.759, BenchmarkRule("new", "unknown"), False, "no_outcome"),
        ([0.378, 0.340], MASKRCNN, True, "target"),
        ([0.378, 0.338], MASKRCNN, False, "target_missed"),  # both parts must pass
        ([0.376, 0.340], MASKRCNN, False, "target_missed"),
    ],
)
def test_without_a_status_the_target_decides(
    quality: Any, rule: BenchmarkRule, is_converged: bool, basis: str
) -> None:
    outcome = facts(run(status=None, quality=quality), rule)
    assert (outcome.is_converged, outcome.convergence_basis) == (is_converged, basis)


def test_a_success_below_its_target_counts_and_is_flagged() -> None:
    below = facts(run(quality=0.7588))
    assert below.is_converged and below.is_below_target


def test_no_stop_no_start_no_record() -> None:
    lines = run()
    assert facts(lines[:-1]).convergence_basis == "no_run_stop"
    assert facts(lines[:4] + lines[5:]).convergence_basis == "no_run_start"
    assert facts(b"nothing").convergence_basis == "no_records"
    for found in (facts(lines[:-1]), facts(lines[:4] + lines[5:]), facts(b"")):
        assert found.duration_ms is None
        assert not found.is_converged


@pytest.mark.parametrize(
    ("lines", "attempts", "completed", "duration_ms", "basis"),
    [
        # Two complete attempts are not one run.
        (run(10) + SECOND, 2, 2, None, "multiple_attempts"),
        # An attempt without an end leaves the completed one, whichever comes first.
        (run(10)[:-2] + SECOND, 2, 1, 20 * 60_000, "status"),
        (run(10) + SECOND[:-1], 2, 1, 600_000, "status"),
        # Repeated records are one attempt.
        ([line for line in run(10) for _ in range(3)], 1, 1, 600_000, "status"),
    ],
    ids=["two", "crashed_first", "crashed_last", "repeated"],
)
def test_attempts(
    lines: list[str], attempts: int, completed: int, duration_ms: float | None, basis: str
) -> None:
    log_facts = facts(lines)
    assert (log_facts.attempt_count, log_facts.completed_attempt_count) == (attempts, completed)
    assert (log_facts.duration_ms, log_facts.convergence_basis) == (duration_ms, basis)
    assert log_facts.is_converged == (duration_ms is not None)
    assert log_facts.quality == 0.76


def test_repeated_stops_must_agree() -> None:
    lines = run(10)
    found = facts([*lines, record("run_stop", START + 600_000, None, status="aborted")])
    assert not found.is_converged


@pytest.mark.parametrize("stop_ms", [START, START - 1, 0, START + 10**12])
def test_a_clock_that_cannot_be_is_no_time(stop_ms: int) -> None:
    found = facts([record("run_start", START), record("run_stop", stop_ms, status="success")])
    assert (found.is_converged, found.convergence_basis) == (False, "clock")
    assert found.duration_ms is None


def test_seconds_plus_elapsed_milliseconds_are_not_rescaled() -> None:
    # epoch seconds + elapsed ms, as one submitter logged: the difference is true milliseconds
    found = facts(
        [record("run_start", 1592985147), record("run_stop", 1593184341, status="success")]
    )
    assert found.duration_ms == 199_194


def test_elapsed_time_where_the_round_says_so() -> None:
    rule = BenchmarkRule(
        "minigo", "declared", 10, direction="higher", target=0.5, is_timed_by_elapsed=True
    )
    lines = [
        ':::MLL 1000.0 run_start: {"value": null, "metadata": {}}',
        ':::MLL 6000.0 eval_accuracy: {"value": 0.51, "metadata": {"epoch_num": 19}}',
        ':::MLL 6000.1 eval_result: {"value": null, "metadata": {"timestamp": 1725.5}}',
    ]
    found = facts(lines, rule)
    assert (found.duration_ms, found.duration_source) == (1_725_500, "elapsed")
    assert (found.is_converged, found.convergence_basis) == (True, "elapsed")
    stop = ':::MLL 6000.2 run_stop: {"value": null, "metadata": {"status": "success"}}'
    assert facts([*lines, stop], rule).duration_ms == 1_725_500
    assert facts(lines, RESNET).duration_ms is None
    missed = [lines[0], lines[1].replace("0.51", "0.47"), lines[2]]
    assert facts(missed, rule).convergence_basis == "target_missed"


def test_local_wall_clock_without_an_outcome_does_not_count() -> None:
    text = (
        b"MLPerf: resnet [06/13/19 00:30:56], run_start\n"
        b'MLPerf: resnet [06/13/19 00:55:20], eval_accuracy: {"value": 75.98%, "epoch": 79}\n'
        b"MLPerf: resnet [06/13/19 00:55:21], run_stop\n"
    )
    found = facts(text)
    assert (found.dialect, found.duration_ms) == ("wallclock", 1_465_000)
    assert (found.is_converged, found.convergence_basis) == (False, "wallclock")
    assert (found.quality, found.epoch_num) == (pytest.approx(0.7598), 79)


@pytest.mark.parametrize(
    ("value", "quality"),
    [
        ([0.38, 0.34], 0.38),
        ({"BBOX": 0.38, "SEGM": 0.34}, 0.38),
        ({"accuracy": [0.38, 0.34]}, 0.38),
        ('{"BBOX": 0.38, "SEGM": 0.34}', 0.38),
        ("0.38", 0.38),
        ("38%", 0.38),
        ({"epoch": 3, "value": 0.38}, 0.38),
        ("NaN", None),
        ([[0.38], 0.34], None),
        (True, None),
        ({"a": 1, "b": 2}, None),
    ],
)
def test_forms_of_an_evaluation(value: Any, quality: float | None) -> None:
    found = facts(run(quality=value), RESNET)
    assert found.quality == (quality if quality is not None else 0.1)  # the first evaluation's


def series(*points: tuple[int, float, float]) -> list[str]:
    lines = [record("run_start", START), record("run_stop", START + 60_000, status="success")]
    for at, (samples, fid, clip) in enumerate(points):
        for metric, value in (("FID", fid), ("CLIP", clip)):
            time = START + 100_000 + at
            lines.append(record("eval_accuracy", time, value, metric=metric, samples_count=samples))
    return lines


def test_the_first_point_at_which_both_series_pass_decides() -> None:
    points = [(512, 150, 0.10), (1024, 89, 0.14), (1536, 88, 0.16), (2048, 70, 0.18)]
    found = facts(series(*points), DIFFUSION)
    assert (found.samples_count, found.quality) == (1536, 88)
    never = facts(series(*points[:2]), DIFFUSION)
    assert (never.samples_count, never.quality) == (1024, 89)
    assert never.is_below_target


def test_the_last_evaluation_by_counter_decides_not_the_last_line() -> None:
    lines = run(10)
    late = record("eval_accuracy", START + 500, 0.2, epoch_num=1.5)
    assert facts([*lines, late]).quality == 0.76


def test_values_that_ranks_disagree_on_are_left_out() -> None:
    extra = [record("global_batch_size", START, 512), record("seed", START, 8)]
    found = facts(run() + extra)
    assert (found.global_batch_size, found.seed) == (None, None)
    same = facts([*run(), record("global_batch_size", START, None)])
    assert same.global_batch_size == 256


@pytest.mark.parametrize(
    ("stats", "throughput", "step_time"),
    [
        (
            [(5, {"throughput": 100.0, "train_step_time": 0.5}), (6, {"throughput": 300.0}),
             (7, {"imgs_sec": 200})],
            200, 0.5,
        ),
        # A figure that every rank repeats counts once, the same figure later on twice.
        ([(1, {"throughput": 100.0}), *[(2, {"throughput": 300.0})] * 9], 200, None),
        ([(n, {"throughput": rate}) for n, rate in enumerate((100.0, 300.0, 300.0))], 300, None),
    ],
)  # fmt: skip
def test_what_the_log_claims(
    stats: list[tuple[int, dict[str, float]]], throughput: float, step_time: float | None
) -> None:
    claims = [record("tracked_stats", START + time_ms, value) for time_ms, value in stats]
    logged = facts(run() + claims)
    assert (logged.logged_throughput_per_s, logged.logged_step_time_s) == (throughput, step_time)


def test_fingerprints_tell_copies_from_other_runs() -> None:
    original, copy, longer = facts(run(10)), facts(run(10, benchmark="ssd")), facts(run(11))
    assert original.fingerprint == copy.fingerprint != longer.fingerprint
    assert facts(run(10)[:-1]).fingerprint is None


@pytest.mark.parametrize(
    ("late_ms", "is_named"),
    [(0, False), (-9, False), (40, False), (60_040, True), (-1_000, True), (-30, True)],
)
def test_a_stop_at_the_end_of_a_log_is_held_by_what_stands_before(
    late_ms: int, is_named: bool
) -> None:
    stop_ms = START + 600_000
    lines = [
        *(record(key, START) for key in ("init_stop", "run_start")),
        *(record(key, stop_ms) for key in ("block_stop", "epoch_stop", "eval_stop")),
        record("run_stop", stop_ms + late_ms, status="success"),
    ]
    doubts = facts(lines).clock_doubts
    assert [line for line, _ in doubts] == ([6] if is_named else [])
    # A stop a minute behind everything else contradicts nothing; it only stands alone.
    is_alone = late_ms > 60_000
    assert all(("no other record confirms" in doubt) == is_alone for _, doubt in doubts)


@pytest.mark.parametrize(
    ("late_ms", "is_named"),
    [(0, False), (9, False), (30, True), (4_000, True), (100_000, True), (-30, True)],
)
def test_a_start_out_of_its_place_is_named(late_ms: int, is_named: bool) -> None:
    """Also where a record further on is later still, as in a log that says little."""
    stop_ms = START + 600_000
    lines = [
        record("init_start", START - 50_000),
        record("init_stop", START - 1),
        record("run_start", START + late_ms),
        record("epoch_start", START),
        *(record(key, stop_ms) for key in ("eval_stop", "epoch_stop", "block_stop")),
        record("run_stop", stop_ms, status="success"),
    ]
    doubts = facts(lines).clock_doubts
    doubt = (3, "the time of run_start contradicts the records around it")
    assert doubts == ((doubt,) if is_named else ())


def comparable(found: RunFacts) -> dict[str, Any]:
    return {name: value for name, value in asdict(found).items() if name not in LINES}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_form_does_not_change_facts(data: st.DataObject) -> None:
    """Order of lines, prefixes, line ends, repeats and cut characters leave the facts alone."""
    rule, lines = data.draw(
        st.sampled_from(
            [
                (RESNET, run(10)),
                (MASKRCNN, run(3, quality=[0.378, 0.34])),
                (DIFFUSION, series((512, 95, 0.1), (1024, 89, 0.2), (2048, 80, 0.1))),
            ]
        )
    )
    plain = comparable(facts(lines, rule))
    changed = data.draw(st.permutations(lines))
    changed += data.draw(st.lists(st.sampled_from(lines), max_size=5))
    prefix = data.draw(
        st.sampled_from([b"", b"0: ", b"\xc3", b"[1,0]<stdout>:", b"90%|##\r", b"\x1b[0m"])
    )
    end = data.draw(st.sampled_from([b"\n", b"\r\n", b" \n", b"\n\n", b"\x1b[0m\n", b"\xe2\x82\n"]))
    text = b"".join(prefix + line.encode() + end for line in changed)
    assert comparable(facts(text, rule)) == plain


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2_000), st.integers(0, 2_000))
def test_damaged_logs_never_raise(junk: bytes, start: int, length: int) -> None:
    whole = log(run())
    found = facts(whole[:start] + junk + whole[start + length :])
    assert found.is_converged <= (found.duration_ms is not None)
    json.dumps(asdict(found), allow_nan=False)
