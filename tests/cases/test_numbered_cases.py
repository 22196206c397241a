"""Cases that really happened, each as a small input of ours through the whole pipeline.

The numbers are those of the project's list of cases; what is not here is tested where it belongs
(the method's in tests/unit, publication and locks in tests/flows).
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from cases.miniature import (
    T0,
    Mini,
    Record,
    Warehouse,
    build,
    log,
    mll,
    mllog,
    rank,
    records,
    system,
    write,
)

from gpurank.declared.validation import ValidationFailed
from tasks.checks.validate import validate_version
from tasks.sources.snapshot import files, pin

FIVE = (30.0, 31.0, 32.0, 33.0, 90.0)  # olympic mean 32
TEN = (*FIVE, *FIVE)  # olympic mean 39
THREE = (10.0, 12.0, 20.0)


def v0_5() -> Mini:
    """5: packages, entry files, another log form, a system folder that says nothing."""
    mini = Mini(T0 - 10**11)
    entry = {
        "division": "closed", "status": "cloud", "hardware": "slice", "framework": "TF 1.12",
        "power": "none", "notes": "none", "interconnect": "NA", "os": "Ubuntu", "libraries": "NA",
        "compilers": "NA",
        "nodes": [{
            "num_nodes": 4, "cpu": "Intel Skylake", "num_cores": 56, "num_vcpus": "112",
            "accelerator": "tpuv3-32", "num_accelerators": 32, "sys_mem_size": "384G",
        }],
    }  # fmt: skip
    base = "v0.5.0/google/cloud_v3.32/resnet-tpuv3-32/results/tpu"
    mini[f"{base}/entry.json"] = json.dumps(entry).encode()
    mini["v0.5.0/google/submission.json"] = b'{"org": "Google", "poc_email": "x@example.org"}'
    for number, minutes in enumerate(FIVE):
        start_s = mini.start() / 1000
        stop_s = start_s + minutes * 60
        mini[f"{base}/resnet/result_{number}.txt"] = (
            f":::MLPv0.5.0 resnet {start_s:.3f} (train.py:7) run_start\n"
            f":::MLPv0.5.0 resnet {start_s + 60:.3f} (train.py:9) eval_accuracy: "
            '{"epoch": 0, "value": 0.1}\n'
            f":::MLPv0.5.0 resnet {stop_s - 1:.3f} (train.py:9) eval_accuracy: "
            '{"epoch": 60, "value": 0.7501}\n'
            f':::MLPv0.5.0 resnet {stop_s:.3f} (train.py:8) run_stop: {{"success": true}}\n'
        ).encode()
    return mini


def v0_6() -> Mini:
    """1: descriptions of ``key: {...}`` lines; 3: a file of bytes among them."""
    mini = Mini(T0 - 9 * 10**10)
    mini.result("NVIDIA/dgx1_n2/resnet", FIVE, dialect=mll)
    nodes = {
        "num_nodes": "2", "accelerator": "Tesla V100-SXM2-16GB", "num_accelerators": "8",
        "cpu": "2x Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz", "num_cores": "40",
        "sys_mem_size": "503 GB",
    }  # fmt: skip
    entry = {"os": "Ubuntu", "nodes": str(nodes), "framework": "MXNet 19.05"}
    lines = {"org": "NVIDIA", "division": "closed", "status": "onprem", "platform": "2xDGX-1"}
    lines["entry"] = str(entry)
    mini["NVIDIA/systems/dgx1_n2.json"] = "".join(
        f"{key}: {json.dumps({'value': value, 'metadata': {}})}\n" for key, value in lines.items()
    ).encode()
    mini["NVIDIA/systems/.dgx1_n2.json.swp"] = b"b0VIM 8.0\0\xb8\xff\n"
    mini["NVIDIA/systems/README.md"] = b"names"
    return mini


def v0_7() -> Mini:
    """2: a trailing comma; 4: no description, no benchmark folder; 9: a null; 28: no division."""
    mini = Mini(T0 - 8 * 10**10)
    mini.result("Alibaba/n2_comma/resnet", FIVE)
    plain = system(submitter="Alibaba", number_of_nodes=2)
    mini["Alibaba/systems/n2_comma.json"] = plain[:-1] + b",\n}"
    for number, minutes in enumerate(FIVE):
        path = f"Alibaba/results/v100-256/result_{number}.txt"
        mini[path] = log(minutes, mini.start())
    mini["Alibaba/results/nobody/result_0.txt"] = log(9, mini.start(), benchmark=None)
    mini.result("Fujitsu/null_nodes/resnet", FIVE, {"number_of_nodes": None})
    fields = {"division": None, "divison": "Closed"}
    mini.result("Fujitsu/misspelt/resnet", FIVE, fields)
    mini.result("Fujitsu/log_says/resnet", FIVE, {"division": None})
    mini.result("Fujitsu/nobody_says/resnet", FIVE, {"division": None}, division=None)
    tpu = {"accelerator_model_name": "tpu-v3", "accelerators_per_node": "8", "submitter": "Google"}
    mini.result("Google/tpu-v3-16/resnet", FIVE, tpu)
    return mini


def v1_0() -> Mini:
    """28: close; 7: failed runs; 6: attempts, a line break; 14: 40 runs; 24: renamed."""
    mini = Mini(T0 - 7 * 10**10)
    mini.result("Dell/close/resnet", FIVE, {"division": "close"})
    for name, statuses in (("one", ["aborted"]), ("two", ["abort", "fail"])):
        folder = mini.result(f"Dell/failed_{name}/resnet", FIVE, {})
        for number, status in enumerate(statuses):
            path = f"{folder}/result_{number}.txt"
            mini[path] = log(1, mini.start(), status=status)
    folder = mini.result("Dell/attempts/resnet", FIVE, {})
    start_ms = mini.start()
    whole = log(33, start_ms + 7_200_000)
    mini[f"{folder}/result_3.txt"] = log(5, start_ms, stop=False) + whole
    mini[f"{folder}/result_4.txt"] = log(5, mini.start()) + log(90, mini.start())
    folder = mini.result("Dell/broken_line/resnet", FIVE, {})
    text = mini[f"{folder}/result_2.txt"]
    mini[f"{folder}/result_2.txt"] = text.replace(b'"run_stop", ', b'"run_stop",\n ')
    assert mini[f"{folder}/result_2.txt"] != text
    outliers = [1.0] * 4 + [20.0, 22.0] * 16 + [500.0] * 4
    mini.result("Dell/forty/unet3d", outliers, {}, quality=0.91, counters={"epoch_num": 2000})
    mini.result("Dell/renamed/3dunet", outliers, {}, quality=0.91)
    mini.result("Dell/ssd/ssd", FIVE, {}, quality=0.23, counters={"epoch_num": 60})
    return mini


def v2_0() -> Mini:
    """9: counts of every type; 11: cores; 23: ssd; 25, 27: spellings; 22: refiled."""
    mini = Mini(T0)
    for name, nodes in (("float", 1.0), ("int", 1), ("text", "1")):
        mini.result(f"MosaicML/nodes_{name}/resnet", FIVE, {"number_of_nodes": nodes})
    for cores in ("96", "192", "6"):
        fields = {"host_processor_model_name": "AMD EPYC 9655", "host_processor_core_count": cores}
        mini.result(f"Dell/cores_{cores}/resnet", FIVE, fields)
    mini.result("Dell/ssd/ssd", FIVE, {}, quality=0.34, counters={"epoch_num": 5})
    for name, status in (
        ("onprem", "onprem"), ("premise", "Available on premise"),
        ("lower", "available on premise"),
        ("cloud", "Available in cloud"), ("preview", "Preview"), ("research", "RDI"),
        ("odd", "Available soon"),
    ):  # fmt: skip
        mini.result(f"HPE/status_{name}/resnet", FIVE, {"status": status})
    mini.result("smc/box/resnet", FIVE, {"submitter": "smc"})
    joint = {"submitter": "IBM + CoreWeave+NVIDIA"}
    mini.result("IBM+CoreWeave+NVIDIA/box/resnet", FIVE, joint)
    return mini


def v4_0(earlier: Mini) -> Mini:
    """13: scaling; 19: one measurement under three names; 22: logs of an earlier round."""
    mini = Mini(T0 + 10**10)
    folder = mini.result("smc/1xH100/bert", TEN, {"submitter": "smc"}, quality=0.72)
    for twin in ("smc-ac-power", "smc-dc-power"):
        mini[f"{twin}/systems/1xH100.json"] = system(submitter=twin)
        for number in range(len(TEN)):
            name = f"1xH100/bert/result_{number}.txt"
            mini[f"{twin}/results/{name}"] = mini[f"{folder}/result_{number}.txt"]
    for number in range(len(FIVE)):
        source = f"MosaicML/results/nodes_int/resnet/result_{number}.txt"
        mini[f"Else/results/again/resnet/result_{number}.txt"] = earlier[source]
    mini["Else/systems/again.json"] = system(submitter="HPE")
    for name, counts in (("trays", (18, 4)), ("servers", (9, 8))):
        model = "NVIDIA GB200" if name == "trays" else "NVIDIA B200-SXM-180GB"
        fields = {"number_of_nodes": counts[0], "accelerators_per_node": counts[1]}
        mini.result(f"NVIDIA/{name}/resnet", FIVE, fields | {"accelerator_model_name": model})
    units = {"counters": {"epoch_num": 5}, "settings": {"train_samples": 4572}}
    mini.result("NVIDIA/iterations/ssd", FIVE, {}, quality=0.34, **units)
    mini.result("NVIDIA/named_samples/transformer", TEN, {}, settings={"train_samples": 4_590_101})
    return mini


def v4_1() -> Mini:
    """32: previews, one of which comes back as available."""
    mini = Mini(T0 + 2 * 10**10)
    for name in ("returns", "stays_away"):
        fields = {"status": "Preview", "submitter": "NVIDIA" if name == "returns" else "Google"}
        mini.result(f"NVIDIA/{name}/llama2_70b_lora", TEN, fields, quality=0.92)
    return mini


def v5_0() -> Mini:
    """13: scaled by its factor, the raw mean kept; 32: the successor."""
    mini = Mini(T0 + 3 * 10**10)
    folder = mini.result("NVIDIA/scaled/llama31_405b", THREE, {}, quality=5.5)
    mini[f"{folder}/scaling.json"] = b'{"scaling_factor": 1.1}'
    mini.result("NVIDIA/now_sold/llama2_70b_lora", TEN, {}, quality=0.92)
    return mini


def v5_1() -> Mini:
    """15: the same benchmark after its evaluation schedule changed."""
    mini = Mini(T0 + 4 * 10**10)
    mini.result("NVIDIA/later/llama31_405b", THREE, {}, quality=5.5)
    return mini


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    earlier = v2_0()
    rounds = {
        "v0.5": v0_5(), "v0.6": v0_6(), "v0.7": v0_7(), "v1.0": v1_0(), "v2.0": earlier,
        "v4.0": v4_0(earlier), "v4.1": v4_1(), "v5.0": v5_0(), "v5.1": v5_1(),
    }  # fmt: skip
    return build(tmp_path_factory.mktemp("cases"), rounds)


def system_of(built: Warehouse, round_id: str, folder: str) -> dict[str, Any]:
    (row,) = built.rows(
        "select * from marts.system where round_id = ? and system_folder = ?", round_id, folder
    )
    return row


def test_1_descriptions_of_key_lines(built: Warehouse) -> None:
    row = built.result("v0.6/NVIDIA/dgx1_n2/resnet")
    assert row["score_min"] == pytest.approx(32)
    assert (row["accelerator"], row["accelerator_count"]) == ("Tesla V100 SXM2 16GB", 16)
    described = system_of(built, "v0.6", "dgx1_n2")
    assert described["parse_dialect"] == "v06_kv"
    # 40 cores a node: two sockets of twenty
    assert (described["socket_count"], described["core_count"]) == (4, 80)


def test_2_a_trailing_comma(built: Warehouse) -> None:
    assert built.result("v0.7/Alibaba/n2_comma/resnet")["accelerator_count"] == 16
    assert system_of(built, "v0.7", "n2_comma")["parse_dialect"] == "json_trailing_comma"
    assert built.file_kinds("Alibaba/systems/n2_comma.json") >= {"system_trailing_comma"}


def test_3_strays_are_recorded_and_ignored(built: Warehouse) -> None:
    strays = built.rows("select path, ignored_reason from raw.source_file where kind = 'stray'")
    assert {row["path"] for row in strays} >= {
        "NVIDIA/systems/.dgx1_n2.json.swp",
        "NVIDIA/systems/README.md",
    }
    assert all(row["ignored_reason"] for row in strays)


def test_4_logs_without_description_and_benchmark_folder(built: Warehouse) -> None:
    row = built.result("v0.7/Alibaba/v100-256/resnet")
    assert (row["score_min"], row["accelerator_count"]) == (32, None)
    assert "system_description_missing" in built.kinds(row["result_id"])
    assert "benchmark" in built.quarantine()["Alibaba/results/nobody"]


def test_5_the_oldest_layout(built: Warehouse) -> None:
    (row,) = built.rows("select * from marts.result where round_id = 'v0.5'")
    assert (row["submitter_folder"], row["system_folder"]) == ("google", "cloud_v3.32")
    assert row["score_min"] == pytest.approx(32)
    # 32 cores of the whole slice are 16 chips, whatever the 4 nodes multiply to (18)
    assert (row["accelerator"], row["accelerator_count"]) == ("TPU v3", 16)
    assert row["samples_to_converge"] == 61 * 1_281_167


def test_6_attempts_and_line_breaks(built: Warehouse) -> None:
    row = built.result("v1.0/Dell/attempts/resnet")
    # the second attempt of one log counts (33 min); two complete ones in a log count not at all
    assert (row["converged_run_count"], row["score_min"]) == (4, 32)
    assert "run_multiple_attempts" in built.kinds(row["result_id"])
    assert built.score("v1.0/Dell/broken_line/resnet") == 32


def test_7_a_failed_run_is_never_the_fastest(built: Warehouse) -> None:
    # 31, 32, 33, 90 and one that failed after a minute: 32, 33 and 90 remain
    assert built.score("v1.0/Dell/failed_one/resnet") == pytest.approx((32 + 33 + 90) / 3)
    two = built.result("v1.0/Dell/failed_two/resnet")
    assert two["score_min"] is None
    assert two["score_missing_reason"] == "too_many_nonconverged_runs"


def test_9_counts_of_every_type(built: Warehouse) -> None:
    for name in ("float", "int", "text"):
        assert built.result(f"v2.0/MosaicML/nodes_{name}/resnet")["accelerator_count"] == 8
    row = built.result("v0.7/Fujitsu/null_nodes/resnet")
    assert (row["score_min"], row["accelerator_count"], row["accelerator_minutes"]) == (
        32, None, None,
    )  # fmt: skip


def test_11_cores_of_a_socket_come_from_the_model(built: Warehouse) -> None:
    found = [system_of(built, "v2.0", f"cores_{cores}") for cores in ("96", "192", "6")]
    assert [row["cores_per_socket"] for row in found] == [96, 96, 96]
    assert [row["core_count"] for row in found] == [192, 192, 192]
    assert [bool(row["explanation"]) for row in found] == [False, True, True]


def test_13_scaled_and_unscaled(built: Warehouse) -> None:
    row = built.result("v5.0/NVIDIA/scaled/llama31_405b")
    assert (row["unscaled_min"], row["scaling_factor"]) == (12, 1.1)
    assert row["score_min"] == pytest.approx(13.2)


def test_14_forty_runs_drop_four_and_four(built: Warehouse) -> None:
    assert built.score("v1.0/Dell/forty/unet3d") == pytest.approx(21)


def test_15_a_soft_break_is_named(built: Warehouse) -> None:
    assert built.result("v5.1/NVIDIA/later/llama31_405b")["soft_break_reason"]
    assert built.result("v5.0/NVIDIA/scaled/llama31_405b")["soft_break_reason"] is None


def test_17_train_samples_of_another_meaning(built: Warehouse) -> None:
    row = built.result("v4.0/NVIDIA/iterations/ssd")
    assert row["samples_to_converge"] == 5 * 1_170_301
    undefined = built.result("v4.0/NVIDIA/named_samples/transformer")
    assert undefined["throughput_per_s"] is None
    assert undefined["throughput_missing_reason"] == "counter_not_defined"


def test_18_chips_not_cores(built: Warehouse) -> None:
    assert built.result("v0.7/Google/tpu-v3-16/resnet")["accelerator_count"] == 8
    assert "cores" in system_of(built, "v0.7", "tpu-v3-16")["explanation"]


def test_19_one_measurement_under_three_names(built: Warehouse) -> None:
    own = built.result("v4.0/smc/1xH100/bert")
    twins = [built.result(f"v4.0/smc-{kind}-power/1xH100/bert") for kind in ("ac", "dc")]
    assert own["is_independent"]
    assert own["submitter"] == "Sustainable Metal Cloud"
    for twin in twins:
        assert (twin["is_independent"], twin["is_same_round_copy"]) == (False, True)
        assert twin["first_seen_result_id"] == own["result_id"]


def test_22_refiled_from_an_earlier_round(built: Warehouse) -> None:
    row = built.result("v4.0/Else/again/resnet")
    assert (row["first_seen_round_id"], row["is_independent"]) == ("v2.0", False)
    assert row["first_seen_result_id"] == "v2.0/MosaicML/nodes_int/resnet"
    assert not row["is_same_round_copy"]


def test_23_one_folder_name_two_benchmarks(built: Warehouse) -> None:
    old, new = built.result("v1.0/Dell/ssd/ssd"), built.result("v2.0/Dell/ssd/ssd")
    assert (old["benchmark"], new["benchmark"]) == ("ssd", "retinanet")
    assert old["span_id"] != new["span_id"]


def test_24_a_renamed_folder_is_not_lost(built: Warehouse) -> None:
    row = built.result("v1.0/Dell/renamed/3dunet")
    assert (row["run_count"], row["score_min"]) == (40, None)
    assert row["score_missing_reason"] == "unknown_benchmark"


@pytest.mark.parametrize(
    ("name", "availability", "is_on_premises"),
    [
        ("onprem", "available", True),
        ("premise", "available", True),
        ("lower", "available", True),
        ("cloud", "available", False),
        ("preview", "preview", None),
        ("research", "research", None),
        ("odd", None, None),
    ],
)
def test_25_statuses(
    built: Warehouse, name: str, availability: str | None, is_on_premises: bool | None
) -> None:
    row = built.result(f"v2.0/HPE/status_{name}/resnet")
    assert (row["availability"], row["is_on_premises"]) == (availability, is_on_premises)


def test_27_submitters(built: Warehouse) -> None:
    assert built.result("v2.0/smc/box/resnet")["submitter"] == "Sustainable Metal Cloud"
    joint = built.result("v2.0/IBM+CoreWeave+NVIDIA/box/resnet")
    assert joint["submitter"] == "CoreWeave+IBM+NVIDIA"
    (members,) = built.rows(
        "select members from identity.submitter where reported = 'IBM + CoreWeave+NVIDIA'"
    )
    assert members["members"] == ["CoreWeave", "IBM", "NVIDIA"]


def test_28_divisions(built: Warehouse) -> None:
    for name in ("v1.0/Dell/close", "v0.7/Fujitsu/misspelt", "v0.7/Fujitsu/log_says"):
        assert built.result(f"{name}/resnet")["division"] == "closed"
    assert built.result("v0.7/Fujitsu/nobody_says/resnet")["division"] is None


def test_30_trays_and_servers(built: Warehouse) -> None:
    trays, servers = (system_of(built, "v4.0", name) for name in ("trays", "servers"))
    assert (trays["accelerator_count"], servers["accelerator_count"]) == (72, 72)
    assert (trays["accelerator_domain_size"], servers["accelerator_domain_size"]) == (72, 8)


def test_32_what_became_of_previews(built: Warehouse) -> None:
    assert built.result("v4.1/NVIDIA/returns/llama2_70b_lora")["preview_outcome"] == "returned"
    assert built.result("v4.1/NVIDIA/stays_away/llama2_70b_lora")["preview_outcome"] == "not_seen"
    assert built.result("v5.0/NVIDIA/now_sold/llama2_70b_lora")["preview_outcome"] is None


def test_38_packing_again_changes_no_content(tmp_path: Path) -> None:
    """The same tree in two archives of other bytes: other fingerprints, the same files."""
    mini = Mini()
    mini.result("Dell/box/resnet", FIVE, {})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, data in mini.items():
            info = tarfile.TarInfo(f"training_results_v4.0-abcdef0/{path}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    found = []
    for level in (1, 9):
        folder = tmp_path / str(level)
        folder.mkdir()
        path = folder / "training_results_v4.0.tar.gz"
        path.write_bytes(gzip.compress(packed.getvalue(), level, mtime=level))
        snapshot = pin("v4.0", path)
        found.append((snapshot, [(f.path, f.sha256) for f in files(snapshot, tmp_path)]))
    (first, one), (second, other) = found
    assert first.fingerprint != second.fingerprint
    assert one == other
    assert len(one) == len(mini)


def test_45_an_empty_round_is_never_published(tmp_path: Path) -> None:
    write({"README.md": b"see elsewhere"}, "v4.0", tmp_path / "empty")
    with pytest.raises(ValidationFailed, match="not_empty"):
        validate_version(tmp_path / "empty", "v4.0")
    mini = Mini()
    mini.result("Dell/box/resnet", FIVE, {})
    write(mini, "v4.0", tmp_path / "small")
    validate_version(tmp_path / "small", "v4.0", {"run": 5})
    with pytest.raises(ValidationFailed, match="shrink"):
        validate_version(tmp_path / "small", "v4.0", {"run": 500})


def test_49_and_52_few_rows_rank_and_are_not_clustered(tmp_path: Path) -> None:
    """A dominated row changes no order; a row without a count says why it has no rank."""
    mini = Mini()
    for name, nodes, factor in (("one", 1, 8), ("two", 2, 4.5), ("four", 4, 2.6)):
        minutes = [factor * value for value in FIVE]
        mini.result(f"Dell/{name}/resnet", minutes, {"number_of_nodes": nodes})
    mini.result("Dell/uncounted/resnet", FIVE, {"number_of_nodes": "many"})
    first = build(tmp_path / "first", {"v4.0": mini})
    mini.result("HPE/dominated/resnet", [9 * value for value in FIVE], {"number_of_nodes": 4})
    second = build(tmp_path / "second", {"v4.0": mini})
    for warehouse in (first, second):
        rank(warehouse)
    sql = (
        "select system_folder from marts.ranking where scope = 'round' "
        "and system_folder <> 'dominated' order by rank"
    )
    assert first.rows(sql) == second.rows(sql)
    assert len(first.rows(sql)) == 3
    unranked = first.rows("select result_id, reason from marts.unranked where scope = 'round'")
    assert [row["result_id"] for row in unranked] == ["v4.0/Dell/uncounted/resnet"]
    assert unranked[0]["reason"]
    assert not first.rows("select * from marts.cluster")
    (profile,) = first.rows("select * from marts.cluster_profile")
    assert profile["reason"]


def test_a_record_of_two_ranks_is_one(tmp_path: Path) -> None:
    """Ranks print the same records, some milliseconds apart: the last start, the first stop."""
    mini = Mini()
    folder = mini.result("Dell/box/resnet", FIVE, {})
    rank0 = records(30, T0)
    shifted: list[Record] = [(time_ms + 4, *rest) for time_ms, *rest in rank0]  # type: ignore[misc]
    both = sorted(rank0 + shifted, key=lambda record: record[0])
    mini[f"{folder}/result_0.txt"] = mllog(both + both)
    warehouse = build(tmp_path / "ranks", {"v4.0": mini})
    (run,) = warehouse.rows("select * from marts.run where file like '%/result_0.txt'")
    assert run["run_min"] == pytest.approx(30 - 4 / 60_000)
    assert warehouse.score("v4.0/Dell/box/resnet") == pytest.approx(32)
