"""Files that are wrong, odd or malicious: an issue or a reason each, and the round still stands.

One invented round holds them all and passes every critical check of every layer, so that no one
file can keep a round from being published.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from cases.miniature import Mini, Record, Warehouse, build, log, mllog, rank, records, system

from gpurank.logs.source_files import SourceFile
from tasks.checks.validate import validate_layer, validate_version

MINUTES = (30.0, 31.0, 32.0, 33.0, 90.0)  # olympic mean 32
SCORE = 32.0
ROUND = "v2.0"
POWER_W = 1000

SCALINGS: dict[str, tuple[bytes, float | None]] = {
    # (file, expected score)
    "fits": (b'{"scaling_factor": 1.1}', SCORE * 1.1),
    "text": (b'{"scaling_factor": "1.1"}', SCORE * 1.1),
    "marked": (b'\xef\xbb\xbf{"scaling_factor": 1.1}', SCORE * 1.1),
    "nan": (b'{"scaling_factor": NaN}', None),
    "infinite": (b'{"scaling_factor": Infinity}', None),
    "below": (b'{"scaling_factor": 0.99}', None),
    "above": (b'{"scaling_factor": 2.01}', None),
    "negative": (b'{"scaling_factor": -1.1}', None),
    "boolean": (b'{"scaling_factor": true}', None),
    "word": (b'{"scaling_factor": "one"}', None),
    "list": (b"[1.1]", None),
    "nested": (b'{"scaling_factor": {"value": 1.1}}', None),
    "twice": (b'{"scaling_factor": 1.1, "scaling_factor": 1.2}', None),
    "misspelt": (b'{"Scaling_factor": 1.1}', None),
    "empty": (b"", None),
    "binary": (b"\xff\x00\xfe", None),
    "deep": (b'{"a":' * 5000, None),
}
COUNTS: dict[str, tuple[Any, Any, int | None]] = {
    # (number_of_nodes, accelerators_per_node, expected total)
    "float": (1.0, "8", 8),
    "float_text": ("2.0", "4.0", 8),
    "integers": (2, 8, 16),
    "remark": ("1", "8 (x2)", None),
    "negative": ("-1", "8", None),
    "negative_per_node": ("1", "-8", None),
    "huge": ("999999999", "999999999", None),
    "endless": ("1e300", "8", None),
    "nan": ("NaN", "8", None),
    "half": ("1.5", "8", None),
    "boolean": (True, "8", None),
    "object": ({"count": 1}, "8", None),
    "empty": ("", "8", None),
    "absent": (None, "8", None),
    "none": ("0", "8", None),
    "none_of_a_model": ("1", "0", None),
}
POWERS: dict[str, tuple[list[Any], float, int, float | None]] = {
    # (efficiencies, W, ms until stop, expected kWh of a run of 32 min)
    "plain": ([0.9], POWER_W, 600_000, 0.9 * 32 / 60),
    "no_efficiency": ([], POWER_W, 600_000, 32 / 60),
    "percent": ([90], POWER_W, 600_000, None),
    "efficiency_zero": ([0], POWER_W, 600_000, None),
    "efficiency_negative": ([-0.9], POWER_W, 600_000, None),
    "efficiencies_differ": ([0.9, 0.8], POWER_W, 600_000, None),
    "negative": ([0.9], -POWER_W, 600_000, None),
    "zero": ([0.9], 0, 600_000, None),
    "huge": ([0.9], 1e307, 600_000, None),
}
BAD_LOGS: dict[str, bytes] = {
    "empty": b"",
    "zeros": b"\0" * 5000,
    "bytes": bytes(range(256)) * 8,
    "prose": b"the run is in the other folder\n",
    "stop_at_start": log(0),
    "stop_before_start": log(-5),
    "four_hundred_days": log(400 * 1440),
    "start_is_a_placeholder": mllog([(0, "run_start", None, {}), *records(30)[-2:]]),
    "time_is_text": log(30).replace(b'"time_ms": 1', b'"time_ms": "soon", "x": 1'),
    "time_is_infinite": log(30).replace(b'"time_ms": 1', b'"time_ms": 1e999, "x": 1'),
    "deep": b':::MLLOG {"key": "run_start", "time_ms": 5, "value": ' + b"[" * 50_000,
}


def power(start_ms: int, efficiencies: list[Any], watts: float, stop_ms: int) -> bytes:
    """A node's readings, one a minute up to the stop."""
    items: list[Record] = [(start_ms, "power_measurement_start", None, {})]
    items += [(start_ms, "conversion_eff", value, {}) for value in efficiencies]
    items += [(start_ms + 60_000 * n, "power_reading", watts, {}) for n in range(1, 11)]
    items.append((start_ms + stop_ms, "power_measurement_stop", None, {}))
    return mllog(items)


def hostile_round() -> Mini:
    """The round; each result folder is called after the oddity in it."""
    mini = Mini()
    for name, (text, _) in SCALINGS.items():
        mini[mini.result(f"Odd/scaling_{name}/resnet", MINUTES, {}) + "/scaling.json"] = text
    mini[mini.result("Odd/scaling_called/resnet", MINUTES, {}) + "/Scaling.json"] = b"{}"
    for name, (nodes, per_node, _) in COUNTS.items():
        fields = {"number_of_nodes": nodes, "accelerators_per_node": per_node}
        mini.result(f"Odd/count_{name}/resnet", MINUTES, fields)
    for name, (efficiencies, watts, stop_ms, _) in POWERS.items():
        folder = mini.result(f"Odd/power_{name}/resnet", MINUTES, {})
        for run in range(len(MINUTES)):
            path = f"{folder}/power/result_{run}/node_0.txt"
            mini[path] = power(mini.start(), efficiencies, watts, stop_ms)
    for name, text in BAD_LOGS.items():
        mini[mini.result(f"Odd/log_{name}/resnet", MINUTES, {}) + "/result_4.txt"] = text
    odd_places(mini)
    odd_systems(mini)
    withheld(mini)
    return mini


def odd_places(mini: Mini) -> None:
    """Files where none belongs."""
    folder = mini.result("Odd/place_inside/resnet", MINUTES, {})
    mini[f"{folder}/result_5.txt/stdout.log"] = log(1, mini.start())
    mini[f"{folder}/result_6.txt/result_0.txt"] = log(1, mini.start())
    mini["Odd/results/place_inside/result_0.txt/out.txt"] = log(1, mini.start())
    for benchmark in ("resnet", "bert"):
        minutes = MINUTES * (2 if benchmark == "bert" else 1)
        folder = mini.result(f"Odd/place_nested/{benchmark}", minutes, {})
        mini[f"{folder}/old/result_0.txt"] = log(1, mini.start())
    mini["Odd/results/bare_none/result_0.txt"] = b"no record"
    mini["Odd/results/bare_blank/result_0.txt"] = log(1, mini.start(), benchmark=" ")
    for number, benchmark in enumerate(("bert", "resnet")):
        path = f"Odd/results/bare_two/result_{number}.txt"
        mini[path] = log(1, mini.start(), benchmark=benchmark)
    mini["Odd/results/result_0.txt"] = log(1, mini.start())
    mini["results/box/resnet/result_0.txt"] = log(1, mini.start())
    mini["Odd/Results/box/resnet/result_0.txt"] = log(1, mini.start())
    mini["Odd/code/results/box/resnet/result_0.txt"] = log(1, mini.start())
    mini["Odd/code/systems/box.json"] = b'{"learning_rate": 1}'
    mini["Odd/results/summary.json"] = b"{}"
    mini.result("Odd/Case/resnet", MINUTES, {"system_name": "upper"})
    mini.result("Odd/case/resnet", [value + 1 for value in MINUTES], {"system_name": "lower"})
    mini.result("Odd/case/ResNet", MINUTES)
    mini.result("Odd/Größe 八卡+x/resnet", MINUTES, {"system_name": "Größe 八"})
    mini.result("Odd/SpeltOtherwise/resnet", MINUTES)
    mini["Odd/systems/speltOtherwise.json"] = system(submitter="Odd")


def withheld(mini: Mini) -> None:
    """Files that are listed and were not read: too large, or links."""
    for name in ("result_2.txt", "scaling.json", "power/result_2/node_0.txt"):
        stem = name.partition(".")[0].partition("/")[0]
        folder = mini.result(f"Odd/withheld_{stem}/resnet", MINUTES, {})
        for run in range(len(MINUTES)):
            path = f"{folder}/power/result_{run}/node_0.txt"
            mini[path] = power(mini.start(), [0.9], POWER_W, 600_000)
        path = f"{folder}/{name}"
        mini[path] = SourceFile(path, b"", "larger than 128 MiB", 1 << 28, "0" * 64)


def odd_systems(mini: Mini) -> None:
    """Descriptions that are none, or that hold what must not be kept."""
    for name, text in {
        "empty": b"", "list": b"[1, 2]", "deep": b'{"a":' * 100_000, "binary": bytes(range(256)),
        "cut": system()[:200],
    }.items():  # fmt: skip
        mini.result(f"Odd/system_{name}/resnet", MINUTES)
        mini[f"Odd/systems/system_{name}.json"] = text
    private = {
        "SUBMISSION_POC_NAME": "Jo Doe", "Contact_person": "Jo Doe", "contactless": "Jo Doe",
        "sw_notes": 'ask "contact": jo.doe@example.org', "jo.doe@example.org": "Jo Doe",
        "hw_notes": "jo.doe@example.orgé",
    }  # fmt: skip
    mini.result("Odd/private/resnet", MINUTES, private)
    start_ms = mini.start()
    secrets: list[Record] = [
        (start_ms, "submission_contact", "Jo Doe", {}),
        (start_ms, "SUBMISSION_POC_NAME", "Jo Doe", {}),
        (start_ms, "contactless", {"name": "Jo Doe"}, {}),
        (start_ms, "jo.doe@example.org", 1, {"poc_name": "Jo Doe"}),
    ]
    path = "Odd/results/private/resnet/result_0.txt"
    mini[path] = mllog(secrets + records(MINUTES[0], start_ms))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """The round built; its raw tables and every layer validated on the way."""
    folder = tmp_path_factory.mktemp("hostile")
    warehouse = build(folder, {ROUND: hostile_round()})
    rank(warehouse)
    validate_version(folder / ROUND, ROUND)
    for layer in ("staging", "core", "metrics", "marts"):
        validate_layer(warehouse.con, layer, layer)
    return warehouse


def odd(name: str, benchmark: str = "resnet") -> str:
    return f"{ROUND}/Odd/{name}/{benchmark}"


@pytest.mark.parametrize("name", SCALINGS)
def test_scaling(built: Warehouse, name: str) -> None:
    expected = SCALINGS[name][1]
    row = built.result(odd(f"scaling_{name}"))
    assert row["unscaled_min"] == SCORE
    assert row["score_min"] == pytest.approx(expected)
    if expected is None:
        assert row["score_missing_reason"] == "unreadable_scaling_factor"
        assert row["worst_issue"].startswith("error")


def test_a_factor_under_another_name_is_told(built: Warehouse) -> None:
    assert "scaling_misnamed" in built.kinds(odd("scaling_called"))


@pytest.mark.parametrize("name", COUNTS)
def test_counts(built: Warehouse, name: str) -> None:
    row = built.result(odd(f"count_{name}"))
    assert (row["accelerator_count"], row["score_min"]) == (COUNTS[name][2], SCORE)
    if COUNTS[name][2] is None:
        assert row["accelerator_minutes"] is None
        path = f"Odd/systems/count_{name}.json"
        assert "system_count_missing" in built.file_kinds(path)


@pytest.mark.parametrize("name", POWERS)
def test_energy(built: Warehouse, name: str) -> None:
    expected = POWERS[name][3]
    row = built.result(odd(f"power_{name}"))
    assert row["energy_kwh"] == pytest.approx(expected)
    if expected is None:
        assert row["energy_missing_reason"] == "power_log_unreadable"
        assert "power_log_unreadable" in built.kinds(row["result_id"])


@pytest.mark.parametrize("name", BAD_LOGS)
def test_a_log_without_a_time_is_a_run_that_does_not_count(built: Warehouse, name: str) -> None:
    """The other four stand, the bad one takes the place of the slowest: 31, 32, 33 remain."""
    row = built.result(odd(f"log_{name}"))
    assert (row["run_count"], row["converged_run_count"], row["score_min"]) == (5, 4, SCORE)
    path = f"Odd/results/log_{name}/resnet/result_4.txt"
    assert built.file_kinds(path)


def test_nothing_is_lost(built: Warehouse) -> None:
    folders = {row["folder_id"] for row in built.rows("select folder_id from raw.folder")}
    results = {row["folder_id"] for row in built.rows("select folder_id from core.result")}
    assert set(built.quarantine()) | results == folders
    assert not set(built.quarantine()) & results
    files = built.rows("select count(*) as n from raw.source_file")[0]["n"]
    assert files == len(hostile_round())


@pytest.mark.parametrize(
    "folder",
    [
        "Odd/results/place_inside/resnet/result_6.txt",
        "Odd/results/place_inside/result_0.txt",
        "Odd/results/place_nested/resnet/old",
        "Odd/results/place_nested/bert/old",
        "Odd/results/bare_none",
        "Odd/results/bare_blank",
        "Odd/results/bare_two",
        "Odd/code/results/box/resnet",
    ],
)
def test_folders_that_are_no_results(built: Warehouse, folder: str) -> None:
    assert built.quarantine()[folder]
    (issue,) = built.rows(
        "select source_file, result_id from marts.issue where kind = 'folder_quarantined' "
        "and source_file = ?",
        folder,
    )
    assert issue["result_id"] is None


@pytest.mark.parametrize(
    "path",
    [
        "Odd/results/result_0.txt",
        "results/box/resnet/result_0.txt",
        "Odd/Results/box/resnet/result_0.txt",
    ],
)
def test_logs_outside_every_folder_are_told(built: Warehouse, path: str) -> None:
    assert built.file_kinds(path) == {"log_outside_results"}


def test_odd_places_leave_their_neighbours_alone(built: Warehouse) -> None:
    for name in ("place_inside", "place_nested", "Größe 八卡+x"):
        assert built.score(odd(name)) == SCORE
    assert built.result(odd("Größe 八卡+x"))["system_name"] == "Größe 八"


def test_names_that_differ_in_case_alone_are_two(built: Warehouse) -> None:
    upper, lower = built.result(odd("Case")), built.result(odd("case"))
    assert (upper["system_name"], upper["score_min"]) == ("upper", SCORE)
    assert (lower["system_name"], lower["score_min"]) == ("lower", SCORE + 1)
    other = built.result(odd("case", "ResNet"))
    assert (other["score_min"], other["score_missing_reason"]) == (None, "unknown_benchmark")


def test_a_description_spelt_otherwise_is_taken_and_told(built: Warehouse) -> None:
    assert built.result(odd("SpeltOtherwise"))["accelerator_count"] == 8
    assert "system_description_spelling" in built.kinds(odd("SpeltOtherwise"))


@pytest.mark.parametrize("name", ["empty", "list", "deep", "binary", "cut"])
def test_an_unreadable_description_costs_no_score(built: Warehouse, name: str) -> None:
    row = built.result(odd(f"system_{name}"))
    assert (row["score_min"], row["accelerator"], row["accelerator_count"]) == (SCORE, None, None)
    assert row["worst_issue"] == "error: system_unreadable"


def test_withheld_files_are_errors_and_nothing_is_guessed(built: Warehouse) -> None:
    log_row = built.result(odd("withheld_result_2"))
    # A score of the four that were read would not be the result.
    assert (log_row["run_count"], log_row["score_min"]) == (4, None)
    assert log_row["score_missing_reason"] == "withheld_result_logs"
    assert {"result_log_withheld", "score_missing"} <= built.kinds(log_row["result_id"])
    scaling_row = built.result(odd("withheld_scaling"))
    assert (scaling_row["score_min"], scaling_row["unscaled_min"]) == (None, SCORE)
    assert built.result(odd("withheld_power"))["energy_kwh"] is None


def test_contact_persons_are_nowhere(built: Warehouse) -> None:
    for table in ("raw.system", "raw.run", "raw.issue", "marts.result", "marts.system"):
        text = json.dumps(built.rows(f"select * from {table}"), default=str)
        assert "Jo Doe" not in text.replace("\\", "")
        assert "jo.doe" not in text
    assert built.score(odd("private")) == SCORE
