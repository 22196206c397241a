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
    ("value", "metadata", "basis"),
    [
        (None, {"status": "success"}, "status"),
        (0.7612, {"status": "success"}, "status"),
        ("succuss", {}, "value"),
        ("succuss", {"status": "success"}, "status"),
        ({"success": True}, {}, "value"),
        ({"success": "true"}, {}, "value"),
        ({"status": "success"}, {}, "value"),
        (None, {"status": "SUCCESS "}, "status"),
    ],
)
def test_successes(value: Any, metadata: dict[str, Any], basis: str) -> None:
    found = facts(ended(value, **metadata))
    assert (found.is_converged, found.convergence_basis) == (True, basis)


@pytest.mark.parametrize("status", ["aborted", "abort", "fail", "Aborted"])
def test_failures_never_count(status: str) -> None:
    found = facts(run(1.0, status=status))
    assert (found.is_converged, found.convergence_basis) == (False, "aborted")
    assert found.status_reported == status


@pytest.mark.parametrize("value", [{"success": False}, {"success": "false"}, False])
def test_failures_in_the_value(value: Any) -> None:
    assert facts(ended(value)).convergence_basis == "aborted"


def test_an_unknown_status_is_no_success() -> None:
    found = facts(run(status="sucxess"))
    assert (found.is_converged, found.convergence_basis) == (False, "unknown_status")


def test_without_a_status_the_target_decides() -> None:
    assert facts(run(status=None, quality=0.759)).convergence_basis == "target"
    assert facts(run(status=None, quality=0.759)).is_converged
    missed = facts(run(status=None, quality=0.7589))
    assert (missed.is_converged, missed.convergence_basis) == (False, "target_missed")
    unknown = facts(run(status=None), BenchmarkRule("new", "unknown"))
    assert (unknown.is_converged, unknown.convergence_basis) == (False, "no_outcome")


def test_a_success_below_its_target_counts_and_is_flagged() -> None:
    found = facts(run(quality=0.7588))
    assert found.is_converged
    assert found.is_below_target


def test_no_stop_no_start_no_record() -> None:
    lines = run()
    assert facts(lines[:-1]).convergence_basis == "no_run_stop"
    assert facts(lines[:4] + lines[5:]).convergence_basis == "no_run_start"
    assert facts(b"nothing").convergence_basis == "no_records"
    for found in (facts(lines[:-1]), facts(lines[:4] + lines[5:]), facts(b"")):
        assert found.duration_ms is None
        assert not found.is_converged


def test_two_complete_attempts_are_not_one_run() -> None:
    found = facts(run(10) + run(20, start_ms=START + 3_600_000))
    assert (found.attempt_count, found.completed_attempt_count) == (2, 2)
    assert (found.is_converged, found.convergence_basis) == (False, "multiple_attempts")
    assert found.duration_ms is None


def test_an_attempt_without_an_end_leaves_the_completed_one() -> None:
    crashed = run(10)[:-2]
    found = facts(crashed + run(20, start_ms=START + 3_600_000))
    assert (found.attempt_count, found.completed_attempt_count) == (2, 1)
    assert found.duration_ms == 20 * 60_000
    assert found.is_converged
    later = facts(run(10) + run(20, start_ms=START + 3_600_000, quality=0.1)[:-1])
    assert (later.duration_ms, later.quality) == (600_000, 0.76)


def test_repeated_records_are_one_attempt() -> None:
    lines = run(10)
    found = facts([line for line in lines for _ in range(3)])
    assert (found.attempt_count, found.completed_attempt_count) == (1, 1)
    assert found.duration_ms == 600_000


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


def test_both_parts_of_a_target_must_pass() -> None:
    assert facts(run(status=None, quality=[0.378, 0.340]), MASKRCNN).is_converged
    assert not facts(run(status=None, quality=[0.378, 0.338]), MASKRCNN).is_converged
    assert not facts(run(status=None, quality=[0.376, 0.340]), MASKRCNN).is_converged


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


def test_what_the_log_claims() -> None:
    stats = [
        {"throughput": 100.0, "train_step_time": 0.5},
        {"throughput": 300.0},
        {"imgs_sec": 200},
    ]
    found = facts(run() + [record("tracked_stats", START + 5, value) for value in stats])
    assert (found.logged_throughput_per_s, found.logged_step_time_s) == (200, 0.5)


def test_a_figure_that_every_rank_repeats_counts_once() -> None:
    slow = record("tracked_stats", START + 1, {"throughput": 100.0})
    fast = record("tracked_stats", START + 2, {"throughput": 300.0})
    again = record("tracked_stats", START + 3, {"throughput": 300.0})
    assert facts([*ended(), slow, *[fast] * 9]).logged_throughput_per_s == 200
    assert facts([*ended(), slow, fast, again]).logged_throughput_per_s == 300


def test_fingerprints_tell_copies_from_other_runs() -> None:
    one, copy, other = facts(run(10)), facts(run(10, benchmark="retinanet")), facts(run(11))
    assert one.fingerprint == copy.fingerprint
    assert one.fingerprint != other.fingerprint
    assert facts(run(10)[:-1]).fingerprint is None


def test_stamps_that_contradict_their_neighbours_are_named() -> None:
    steps = [record("epoch_start", START + 1_000 * n) for n in range(1, 5)]
    lines = [record("init_stop", START - 5), *run(10)[4:5], *steps, *run(10)[5:]]
    assert facts(lines).clock_doubts == ()
    moved = [
        line.replace(str(START), str(START + 60_000)) if "run_start" in line else line
        for line in lines
    ]
    ((line, doubt),) = facts(moved).clock_doubts
    assert (line, doubt) == (2, "the time of run_start contradicts the records around it")


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
    lines = [
        *(
            record(key, START - ago_ms)
            for key, ago_ms in (("init_start", 50_000), ("init_stop", 1))
        ),
        record("run_start", START + late_ms),
        record("epoch_start", START),
        *(record(key, START + 600_000) for key in ("eval_stop", "epoch_stop", "block_stop")),
        record("run_stop", START + 600_000, status="success"),
    ]
    assert [line for line, _ in facts(lines).clock_doubts] == ([3] if is_named else [])


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
