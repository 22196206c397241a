"""One measurement under several names is one piece of evidence, and is shown as what it is.

Cases 19, 21 and 22 of the project's list, through the whole pipeline: identical logs under two
systems of one round, and the same logs again a round later under another name.
"""

from __future__ import annotations

from typing import Any

import pytest
from cases.miniature import Mini, Warehouse, build, rank

from gpurank.method.configurations import analysis_set
from gpurank.method.importance import matched_cpu
from gpurank.method.noise import site_noise
from gpurank.method.settings import MethodSettings
from tasks.checks.validate import validate_layer
from tasks.method.tables import read_configuration

FIVE = (30.0, 31.0, 32.0, 33.0, 90.0)
OWN = "v5.0/Dell/1xXE9680Lx8B200/retinanet"
TWIN = "v5.0/Dell/1xXE9780x8B200/retinanet"
LATER = "v5.1/Dell/1xXE9680Lx8B200-again/retinanet"
B200: dict[str, Any] = {"accelerator_model_name": "NVIDIA B200-SXM-180GB"}


def copied(mini: Mini, source: Mini, before: str, after: str) -> None:
    """The logs of one result folder, byte for byte, in another."""
    mini |= {
        path.replace(f"/{before}/", f"/{after}/"): data
        for path, data in source.items()
        if f"/results/{before}/" in path
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    first, later = Mini(), Mini(1_760_000_000_000)
    host = B200 | {"host_processor_model_name": "Intel Xeon Platinum 8562Y+"}
    named = {"submission_platform": "1xXE9680Lx8B200"}
    first.result("Dell/1xXE9680Lx8B200/retinanet", FIVE, host, settings=named, quality=0.345)
    copied(first, first, "1xXE9680Lx8B200", "1xXE9780x8B200")
    other = B200 | {"host_processor_model_name": "Intel Xeon 6767P"}
    first.result("Dell/1xXE9780x8B200/unused", (), other)
    # Three more entries of the same round, accelerator and count, so that hosts can be compared.
    for number in range(3):
        minutes = [value + number for value in FIVE]
        cpu = {"host_processor_model_name": f"AMD EPYC 9{5 + number // 2}75F"}
        first.result(f"Lab{number}/box/retinanet", minutes, B200 | cpu, quality=0.345)
    copied(later, first, "1xXE9680Lx8B200", "1xXE9680Lx8B200-again")
    later.result("Dell/1xXE9680Lx8B200-again/unused", (), host)
    warehouse = build(tmp_path_factory.mktemp("copies"), {"v5.0": first, "v5.1": later})
    rank(warehouse)
    validate_layer(warehouse.con, "metrics", "metrics")
    validate_layer(warehouse.con, "marts", "marts")
    return warehouse


def test_the_copy_is_found_and_the_original_is_the_one_its_logs_name(built: Warehouse) -> None:
    found = {
        row["result_id"]: (row["is_independent"], row["is_same_round_copy"])
        for row in built.rows("from marts.result where submitter = 'Dell'")
    }
    assert found == {OWN: (True, False), TWIN: (False, True), LATER: (False, False)}
    assert {built.result(name)["first_seen_result_id"] for name in found} == {OWN}
    assert "copy_inside_round" in built.kinds(TWIN)
    assert "refiled" in built.kinds(LATER)
    assert built.result(TWIN)["host_cpu"] != built.result(OWN)["host_cpu"]


def test_fits_and_the_test_of_host_processors_see_the_measurement_once(built: Warehouse) -> None:
    frame = read_configuration(built.con)
    assert set(frame["result_id"]) >= {OWN, TWIN, LATER}
    used = analysis_set(frame, "retinanet")["result_id"].to_list()
    assert sorted(used) == [OWN, *(f"v5.0/Lab{number}/box/retinanet" for number in range(3))]
    settings = MethodSettings(matched_permutations=50)
    effects = [row for row in matched_cpu(frame, "retinanet", settings) if row.row_count]
    assert effects
    assert {row.row_count for row in effects} == {4}
    assert site_noise(frame.filter("is_in_analysis_set"), settings) is not None


def test_lists_show_what_was_refiled_and_leave_copies_out_with_the_reason(built: Warehouse) -> None:
    ranked = built.rows("select scope, result_id, is_independent from marts.ranking")
    listed = {(row["scope"], row["result_id"]): row["is_independent"] for row in ranked}
    assert listed[("round", OWN)] is True
    assert listed[("round", LATER)] is False
    assert ("round", TWIN) not in listed
    assert {name for scope, name in listed if scope == "pooled"} == {
        OWN, *(f"v5.0/Lab{number}/box/retinanet" for number in range(3)),
    }  # fmt: skip
    reasons = {
        (row["scope"], row["result_id"]): row["reason"] for row in built.rows("from marts.unranked")
    }
    assert reasons == {
        ("round", TWIN): "copy of a result of the same round",
        ("pooled", TWIN): "copy of a result of the same round",
        ("pooled", LATER): f"same measurement as {OWN}",
    }


def test_each_result_is_ranked_or_explained_once(built: Warehouse) -> None:
    sums = built.rows("select round_id, result_count, ranked_count, unranked_count "
                      "from marts.round_summary order by 1")  # fmt: skip
    assert [tuple(row.values()) for row in sums] == [("v5.0", 5, 4, 1), ("v5.1", 1, 1, 0)]
