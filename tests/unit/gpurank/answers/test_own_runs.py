"""A person's own logs: the published rules, and the same score as the published way gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from cases.miniature import Mini, Warehouse, build, log, rank
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpurank.answers.own_runs import (
    OwnResult,
    OwnRunsError,
    canonical,
    find_benchmark,
    read_files,
    read_logs,
    score_runs,
)
from gpurank.answers.placing import place
from gpurank.cli.own_runs import print_own_result
from gpurank.systems.accelerators import canonical_accelerator

DAY_MS = 86_400_000
FIVE = (30.0, 31.0, 32.0, 33.0, 90.0)  # olympic mean 32


def logs(times: tuple[float, ...], **options: Any) -> dict[str, bytes]:
    return {
        f"result_{i}.txt": log(value, 1_700_000_000_000 + i * DAY_MS, **options)
        for i, value in enumerate(times)
    }


def result(files: dict[str, bytes], round_id: str = "v4.0", asked: str | None = None) -> OwnResult:
    found, ignored, scaling = read_logs(files.items())
    return score_runs(found, ignored, scaling, find_benchmark(found, asked), round_id)


def test_the_olympic_mean_of_five() -> None:
    found = result(logs(FIVE) | {"notes.md": b"hello"})
    assert (found.benchmark, found.score_min) == ("resnet", pytest.approx(32))
    assert [run.is_kept for run in found.runs] == [False, True, True, True, False]
    assert found.ignored == ("notes.md",)
    assert "No convergence scaling" in found.notes[0]


def test_scaling_json_scales() -> None:
    found = result(logs(FIVE) | {"scaling.json": b'{"scaling_factor": 1.05}'})
    assert (found.unscaled_min, found.score_min) == (pytest.approx(32), pytest.approx(33.6))
    assert found.notes == ()
    broken = result(logs(FIVE) | {"scaling.json": b'{"scaling_factor": 0}'})
    assert broken.score_min is None
    assert broken.score_missing_reason == "unreadable_scaling_factor"


def test_too_few_runs_have_no_score() -> None:
    found = result(logs(FIVE[:4]))
    assert found.score_min is None
    assert found.score_missing_reason == "too_few_runs: 4 of 5"
    assert not any(run.is_kept for run in found.runs)


def test_a_copied_log_is_one_run() -> None:
    files = logs(FIVE)
    found = result(files | {"result_5.txt": files["result_0.txt"]})
    assert found.runs[5].copy_of == "result_0.txt"
    assert found.score_min == pytest.approx(32)
    few = logs(FIVE[:4])
    assert result(few | {"result_4.txt": few["result_0.txt"]}).score_min is None


def test_failed_runs_count_as_the_slowest() -> None:
    one = logs(FIVE[:4]) | {"result_4.txt": log(5.0, quality=0.3, status="aborted")}
    # 30 is dropped and so is the failed one: the mean of 31, 32, 33.
    assert result(one).score_min == pytest.approx(32)
    two = logs(FIVE[:3]) | {
        f"result_{i}.txt": log(5.0, i * DAY_MS, status="aborted") for i in (3, 4)
    }
    assert result(two).score_missing_reason == "too_many_nonconverged_runs: 2, 1 allowed"
    empty = logs(FIVE[:4]) | {"result_4.txt": b"killed before it began\n"}
    assert result(empty).runs[4].convergence_basis == "no_records"
    assert result(empty).score_min == pytest.approx(32)


def test_logs_of_other_names_are_taken_where_none_is_called_result() -> None:
    files = {name.replace("result_", "run-").replace("txt", "log"): data
             for name, data in logs(FIVE).items()}  # fmt: skip
    assert result(files).score_min == pytest.approx(32)
    mixed, ignored, _ = read_logs((logs(FIVE) | {"extra.log": log(1.0)}).items())
    assert len(mixed) == 5 and ignored == ["extra.log"]


def test_what_cannot_be_one_result_is_refused() -> None:
    with pytest.raises(OwnRunsError, match="no file holds records"):
        result({"a.txt": b"nothing"})
    mixed = logs(FIVE) | {"result_9.txt": log(1.0, benchmark="bert")}
    with pytest.raises(OwnRunsError, match=r"several benchmarks \(bert, resnet\)"):
        result(mixed)
    with pytest.raises(OwnRunsError, match="are of resnet, not of bert"):
        result(logs(FIVE), asked="bert")
    unnamed = logs(FIVE, benchmark=None)
    with pytest.raises(OwnRunsError, match="give --benchmark"):
        result(unnamed)
    assert result(unnamed, asked="resnet").score_min == pytest.approx(32)
    with pytest.raises(OwnRunsError, match="no rule by which nonesuch"):
        result(logs(FIVE, benchmark="nonesuch"))


def test_names_of_the_folders_of_old_rounds_are_known() -> None:
    assert canonical("gnn") == "rgat"
    assert canonical("resnet") == "resnet"
    assert canonical("nonesuch") == "nonesuch"


def test_files_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "result_0.txt").write_bytes(b"1")
    (tmp_path / ".hidden").write_bytes(b"2")
    assert list(read_files(tmp_path)) == [("b/result_0.txt", b"1")]
    assert list(read_files(tmp_path / "b" / "result_0.txt")) == [("result_0.txt", b"1")]
    with pytest.raises(OwnRunsError, match="does not exist"):
        list(read_files(tmp_path / "none"))


outcomes = st.tuples(st.integers(1, 60), st.sampled_from(["success", "success", "aborted", None]))


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(["resnet", "bert"]), st.lists(outcomes, min_size=3, max_size=12))
def test_as_the_published_way_scores(
    tmp_path_factory: pytest.TempPathFactory, benchmark: str, runs: list[tuple[int, str | None]]
) -> None:
    """The SQL models and this module agree wherever the set has the runs that its rule asks for."""
    mini = Mini()
    mini.result(f"A/m/{benchmark}", (), described={})
    path = f"A/results/m/{benchmark}"
    files = {
        f"result_{i}.txt": log(float(t), mini.start(), benchmark=benchmark, status=status)
        for i, (t, status) in enumerate(runs)
    }
    mini |= {f"{path}/{name}": data for name, data in files.items()}
    warehouse = build(tmp_path_factory.mktemp("w"), {"v4.0": mini})
    published = warehouse.result(f"v4.0/A/m/{benchmark}")
    own = result(files)
    if published["is_complete_run_set"]:
        assert own.score_min == (
            None if published["score_min"] is None else pytest.approx(published["score_min"])
        )
        assert (own.score_missing_reason or "").partition(":")[0] == (
            published["score_missing_reason"] or ""
        )
    else:
        assert own.score_missing_reason is not None
    warehouse.con.close()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    mini = Mini()
    # Scores 32 on 8 chips (delay cost at 8: 512), 6 on 64 (432), 40 on 8 (640), all A100.
    mini.result("A/m8/resnet", FIVE, described={})
    mini.result("B/m64/resnet", (5, 6, 6, 6, 7), described={"number_of_nodes": "8"})
    mini.result("C/slow/resnet", (40,) * 5, described={})
    warehouse = build(tmp_path_factory.mktemp("w"), {"v4.0": mini})
    rank(warehouse)
    return warehouse


def test_beside_the_published(published: Warehouse) -> None:
    model = canonical_accelerator("NVIDIA A100-SXM4-80GB")
    # 36 minutes on 8: delay cost 576, between 512 and 640.
    found = place(published.con, result(logs((36.0,) * 5)), model, 8, 8.0)
    assert found.label == "own runs, unreviewed"
    assert (found.would_rank, found.list_count) == (3, 3)
    assert (found.accelerator_minutes, found.delay_cost) == (pytest.approx(288), pytest.approx(576))
    targets = {one.target: one for one in found.beside}
    # To equal 432 with 8 chips one has 432 / 16 = 27 minutes.
    assert targets["best of the list"].needed_min == pytest.approx(27)
    assert targets["best of the list"].needed_speedup == pytest.approx(36 / 27)
    assert targets["best with 8 x A100 SXM4 80GB"].needed_min == pytest.approx(32)
    # Three results make neither clusters nor a law, and it says so.
    assert found.cluster_label is None and found.cluster_note == "3 rows, 30 needed"
    assert found.fleet_efficiency is None and found.expected_min is None
    assert [row[0] for row in found.answer().rows] == list(targets)
    assert found.as_dict()["result"]["score_min"] == pytest.approx(36)


def test_the_page_for_people(published: Warehouse, capsys: pytest.CaptureFixture[str]) -> None:
    files = logs((36.0,) * 5) | {"notes.md": b"hello"}
    print_own_result(place(published.con, result(files), "A100 SXM4 80GB", 8, 8.0))
    shown = capsys.readouterr().out
    assert "own runs, unreviewed: 8 x A100 SXM4 80GB, scored by the rule of v4.0" in shown
    assert "score 36.000 min, 288.0 accelerator-minutes, delay cost 576.0 (derived)" in shown
    assert "would rank 3 beside the 3 of v4.0" in shown
    # The footnote that follows is held to the rules by tests/flows/test_outputs.py.
    assert "not run logs: notes.md" in shown
    few = logs((36.0, 37.0)) | {"result_2.txt": log(1.0, status="aborted")}
    print_own_result(place(published.con, result(few), "A100 SXM4 80GB", 8, 8.0))
    told = capsys.readouterr().out
    assert "No score: too_few_runs: 3 of 5. The rule requires 5 runs." in told
    assert "result_0.txt: 36.000 min, converged" in told
    assert "result_2.txt: 1.000 min, not converged (aborted)" in told


def test_without_a_score_nothing_is_placed(published: Warehouse) -> None:
    found = place(published.con, result(logs((36.0,) * 3)), "A100 SXM4 80GB", 8, 8.0)
    assert found.would_rank is None and found.delay_cost is None and found.beside == ()
    assert found.result.score_missing_reason == "too_few_runs: 3 of 5"


def test_the_laws_time_at_any_count(published: Warehouse) -> None:
    con: duckdb.DuckDBPyConnection = published.con
    con.execute("BEGIN")
    try:
        # Nc = 64 and g = 1: the work grows as 1 + N / 64.
        con.execute("delete from analysis.fleet_law")
        con.execute(
            "insert into analysis.fleet_law by name "
            "(select 'resnet' benchmark, 64.0 half_count, 1.0 exponent)"
        )
        con.execute(
            "insert into analysis.prediction by name (select 'resnet' benchmark, "
            "'A100 SXM4 80GB' accelerator, 64 accelerator_count, 1000.0 accelerator_minutes)"
        )
        found = place(con, result(logs((36.0,) * 5)), "A100 SXM4 80GB", 16, 8.0)
        # e(16) = (1 + 1/8) / (1 + 1/4); AM(16) = 1000 x 1.25 / 2, over 16 chips.
        assert found.fleet_efficiency == pytest.approx(1.125 / 1.25)
        assert found.expected_min == pytest.approx(1000 * 1.25 / 2 / 16)
        assert found.expected_ratio == pytest.approx(36 / (1000 * 1.25 / 2 / 16))
    finally:
        con.execute("ROLLBACK")
