"""A number walked back to the lines of its logs, in words."""

from __future__ import annotations

import pytest
from cases.miniature import Mini, Warehouse, build, rank

from gpurank.answers import explain
from gpurank.answers.warehouse import NoData

FIVE = (30.0, 31.0, 32.0, 33.0, 90.0)  # olympic mean 32


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    three, four = Mini(), Mini(1_700_000_000_000)
    folder = three.result("A/box/resnet", FIVE, described={"number_of_nodes": "2"})
    for name, data in list(three.items()):
        four[name] = data
    three[f"{folder}/scaling.json"] = b'{"scaling_factor": 1.1}'
    four.result("B/few/resnet", (20, 21), described={})
    four.result("C/failed/resnet", FIVE, described={})
    four["C/results/failed/resnet/result_0.txt"] = b"no record"
    four.result("D/lost/resnet", FIVE, described={}, status="aborted")
    made = build(tmp_path_factory.mktemp("w"), {"v3.0": three, "v4.0": four})
    rank(made)
    return made


def told(warehouse: Warehouse, result_id: str) -> str:
    return "\n".join(explain.text(explain.explain(warehouse.con, result_id)))


def test_a_scaled_score_and_its_ranks(warehouse: Warehouse) -> None:
    text = told(warehouse, "v3.0/A/box/resnet")
    assert "NVIDIA, mini" not in text.splitlines()[0]
    assert (
        "score 35.200000 min = 32.000000 min (mean of 3 of 5 runs; 1 dropped at each end; " in text
    )
    assert "5 required) x 1.1 (A/results/box/resnet/scaling.json)" in text
    # Delay cost 35.2 x (16 + 8).
    assert "delay_cost 844.800 = 35.2000 min x (16 + 8)" in text
    assert "rank 1 in v3.0 (tie group 1" in text and "in all comparable rounds" in text
    assert text.count("dropped 30.000000 min") == text.count("dropped 90.000000 min") == 1
    assert text.count("  kept ") == 3
    assert "read beside: A/results/box/resnet/scaling.json, sha256 " in text
    assert "read beside: A/systems/box.json, sha256 " in text
    # The source names no commit here, so that no address can be pinned.
    assert "http" not in text and text.endswith("source commit unknown, version mini")


def test_what_was_filed_before_says_so(warehouse: Warehouse) -> None:
    text = told(warehouse, "v4.0/A/box/resnet")
    assert "same measurement as v3.0/A/box/resnet; fits count it once" in text
    assert "(no scaling.json)" in text


def test_a_run_that_does_not_count_says_why(warehouse: Warehouse) -> None:
    text = told(warehouse, "v4.0/C/failed/resnet")
    assert "no time (no_records)" in text
    assert "none to none ms" in text
    # The run without a time stands where the slowest would: it and the fastest are dropped.
    assert "mean of 3 of 5 runs" in text


def test_without_a_score_there_is_a_reason(warehouse: Warehouse) -> None:
    assert "score: none (no_converged_run_with_a_time)" in told(warehouse, "v4.0/D/lost/resnet")
    assert "30.000000 min, not converged (aborted)" in told(warehouse, "v4.0/D/lost/resnet")
    assert "score: none (too_few_runs)" in told(warehouse, "v4.0/B/few/resnet")


def test_plain_values(warehouse: Warehouse) -> None:
    found = explain.explain(warehouse.con, "v3.0/A/box/resnet").as_dict()
    assert found["score_min"] == pytest.approx(35.2)
    assert [run["is_kept"] for run in found["runs"]] == [False, True, True, True, False]
    assert {row["scope"] for row in found["ranks"]} == {"round", "pooled"}
    assert {row["path"] for row in found["files"]} == {
        "A/systems/box.json", "A/results/box/resnet/scaling.json"
    }  # fmt: skip


def test_the_result_at_a_rank(warehouse: Warehouse) -> None:
    found = explain.result_at_rank(warehouse.con, "resnet", "v3.0", 1)
    assert found == "v3.0/A/box/resnet"
    with pytest.raises(NoData, match=r"has no rank 7; it goes from 1 to \d"):
        explain.result_at_rank(warehouse.con, "resnet", "v3.0", 7)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("v4.0/A/box/resnot", "did you mean v4.0/A/box/resnet"),
        ("v4.9/A/box/resnet", "it starts with a round, and"),
        ("nothing at all", "it starts with a round, and"),
    ],
)
def test_a_wrong_id_names_the_nearest(warehouse: Warehouse, asked: str, hint: str) -> None:
    with pytest.raises(NoData, match=hint):
        explain.explain(warehouse.con, asked)


def test_among_many_the_nearest_three() -> None:
    known = [f"v4.0/A/box{number}/resnet" for number in range(9)]
    assert explain.nearest_result("v4.0/A/box1/resnet", known).startswith("did you mean v4.0/A/box")
    assert explain.nearest_result("v4.0/" + "!" * 60, known) == "`gpurank top` shows ids"
