"""Rounds that are not at hand, with the features that they are known to have.

Small inputs of ours after the description of v1.1, v2.1, v3.1, v5.1 and v6.0, a v6.1 with its new
benchmark, and a v7.0 of which nothing is known. Expected values are worked out by hand.
"""

from __future__ import annotations

import json

import pytest
from cases.miniature import Mini, Record, Warehouse, build, log, mllog, records

from gpurank.declared.missing import (
    COUNTED_BENCHMARKS_SQL,
    SEEN_RUNS_SQL,
    SeenRun,
    missing_declarations,
)
from gpurank.declared.rounds import declared_rounds

FIVE = (30.0, 31.0, 32.0, 33.0, 90.0)  # olympic mean 32
TEN = (*FIVE, *FIVE)  # 30 and one 90 dropped: (30 + 2*31 + 2*32 + 2*33 + 90) / 8 = 39
THREE = (10.0, 12.0, 20.0)  # olympic mean 12
FORTY = tuple(float(minute) for minute in range(1, 41))  # 5..36 remain: 20.5


def v1_1() -> Mini:
    mini = Mini(1_600_000_000_000)
    listed = {"train_samples": [2_500_000, 2_500_000]}
    counters = {"epoch_num": 2_600_000}
    mini.result("Graphcore/pod/bert", TEN, {}, quality=0.7201, counters=counters, settings=listed)
    constant = {"epoch_num": 1}
    for name, samples in (("limit", 2_500_000), ("dataset", 156_725_653)):
        mini.result(
            f"Google/{name}/bert", TEN, {}, quality=0.7201, counters=constant,
            settings={"train_samples": samples},
        )  # fmt: skip
    folder = mini.result("Azure/nd96/resnet", FIVE, {}, end="\r\n")
    mini[f"{folder}/.!65506!result_4.txt"] = log(1, mini.start(), stop=False)
    mini.result("Azure/nd96/unet3d", FORTY, quality=0.9081, counters={"epoch_num": 2000})
    mini.result("Azure/nd96/ssd", FIVE, quality=0.2301, counters={"epoch_num": 60})
    counted = {"train_samples": 278_528}
    mini.result("Azure/nd96/rnnt", TEN, quality=0.057, counters={"epoch_num": 65}, settings=counted)
    fields = {"accelerator_model_name": "NVIDIA A100-PCIE-80GB", "number_of_nodes": "4"}
    fields |= {"accelerators_per_node": "4", "accelerator_memory_capacity": "40 GB"}
    mini.result("Dell/4xR750xax4A100-PCIE-80GB/resnet", FIVE, fields, prefix="\x1b[32m[0] \x1b[0m")
    return mini


def v2_1() -> Mini:
    mini = Mini(1_610_000_000_000)
    folder = mini.result(
        "ASUSTeK/ESCN4A-E11/dlrm", FIVE, {}, quality=0.8026, counters={"epoch_num": 1.75}
    )
    headless = [row for row in records(1.0, mini.start()) if row[1] != "run_start"]
    mini[f"{folder}/result_2.txt"] = mllog(headless)
    mini[f"{folder}/scaling.json"] = b'{"scaling_factor": 1.05}'
    for name in ("nvlog.json", "nvlog.json.1", "nvlog.json.39"):
        mini[f"{folder}/{name}"] = log(1, mini.start())
    mini[f"{folder}/test"] = b""
    iterations = {"train_samples": 4572, "throughput": 130.0}
    mini.result(
        "xFusion/g5500/ssd", FIVE, {}, quality=0.3401, counters={"epoch_num": 5},
        settings=iterations,
    )  # fmt: skip
    mini.result("xFusion/g5500/minigo", TEN, quality=0.51, counters={"epoch_num": 40})
    spr = {
        "division": "open", "accelerators_per_node": "0", "accelerator_model_name": "",
        "number_of_nodes": "16", "host_processor_model_name": "Intel(R) Xeon(R) Platinum 8480+",
        "host_processor_core_count": "56",
    }  # fmt: skip
    folder = mini.result("Intel/16-nodes-SPR-pytorch-open/bert", TEN, spr, quality=0.7201)
    mini[f"{folder}/scaling.json"] = b'{"scaling_factor": 1.5}'
    wild: Record = (16_655_441_572_299, "cache_clear", True, {})
    mini[f"{folder}/result_9.txt"] = mllog([wild, *records(90, mini.start(), benchmark="bert")])
    mini.result("MosaicML/8xA100_80GB-baseline/resnet", FIVE, {"number_of_nodes": 1.0})
    return mini


def diffusion(minutes: float, start_ms: int) -> bytes:
    """FID and CLIP at three steps, asynchronously; both pass at step 3000 for the first time."""
    run = records(minutes, start_ms, benchmark="stable_diffusion", quality=None)
    stop_ms = run[-1][0]
    points = ((2000, 95.0, 0.16), (3000, 89.0, 0.151), (4000, 88.0, 0.155))
    for late, (step, fid, clip) in enumerate(points):
        for metric, value in (("FID", fid), ("CLIP", clip)):
            fields = {"step_num": step, "metric": metric}
            run.append((stop_ms + 1000 * late, "eval_accuracy", value, fields))
    return mllog(run)


def v3_1() -> Mini:
    mini = Mini(1_620_000_000_000)
    mini.result("Dell/epochs/unet3d", FORTY, {}, quality=0.9081, counters={"epoch_num": 2000})
    mini.result("Dell/samples/unet3d", FORTY, {}, quality=0.9081, counters={"epoch_num": 336_000})
    folder = mini.result("Habana/hls2/stable_diffusion", TEN, {})
    for number, minutes in enumerate(TEN):
        mini[f"{folder}/result_{number}.txt"] = diffusion(minutes, mini.start())
    joint = {"submitter": "NVIDIA+CoreWeave", "number_of_nodes": "448"}
    mini.result(
        "NVIDIA/eos_n448/gpt3", THREE, joint, quality=2.689, counters={"epoch_num": 1_207_959_552}
    )
    mini["xFusion/systems/package_checker.log"] = b"\xb8 checked\n"
    return mini


def v5_1() -> Mini:
    mini = Mini(1_630_000_000_000)
    for benchmark, target, samples, trained in (
        ("llama31_8b", 3.3, 184_320, 1_574_207_408),
        ("flux1", 0.586, 12_000_000, 1_099_776),
    ):
        settings = {"target_accuracy": target, "gradient_accumulation_steps": 1.0}
        settings |= {"train_samples": trained, "max_steps": 1_200_000}
        mini.result(
            f"AMD/mi355x/{benchmark}", TEN,
            {"accelerator_model_name": "AMD Instinct MI355X", "number_of_nodes": 1},
            quality=target - 0.001, counters={"samples_count": samples}, settings=settings,
        )  # fmt: skip
    b200 = {"accelerator_model_name": "NVIDIA Blackwell GPU (B200-SXM-180GB)"}
    mini.result("Dell/1xXE9680Lx8B200/rgat", TEN, b200, quality=0.7201, counters={"epoch_num": 0.9})
    return mini


def v6_0() -> Mini:
    """Prefixes, integers in descriptions, new benchmarks and names, files beside results/."""
    mini = Mini(1_640_000_000_000)
    gb300 = {
        "accelerator_model_name": "NVIDIA Blackwell Ultra GPU (GB300)", "number_of_nodes": 18,
        "accelerators_per_node": "4", "host_processors_per_node": 2, "status": "Available cloud",
        "host_processor_model_name": "NVIDIA Grace CPU", "network_speed_mbit": 200_000,
        "host_networking": "16x 200 Gb/s InfiniBand ports per node (4 cards x 4x200 Gb/s breakout)",
        "sw_notes": "MXFP8 precision; overlapped",
    }  # fmt: skip
    for suffix in ("", "_reduced_gbs"):
        shift = 2 if suffix else 0
        mini.result(
            f"NVIDIA/theia_ngpu72_nemo{suffix}/gpt_oss_20b", [minute + shift for minute in TEN],
            gb300, prefix="0: ", quality=3.339, counters={"samples_count": 500_000},
            settings={
                "target_accuracy": 3.34, "gradient_accumulation_steps": 2.0,
                "train_samples": 1_574_207_408, "max_sequence_length": 8192,
                "submission_org": "SUBMISSION_ORG_PLACEHOLDER",
                "submission_platform": "1xSUBMISSION_PLATFORM_PLACEHOLDER",
            },
        )  # fmt: skip
    folder = mini.result(
        "CoreWeave/gb300_n64/deepseekv3_671b", THREE, gb300, prefix="  12: ", quality=3.6,
        counters={"samples_count": 90_000},
    )  # fmt: skip
    mini[f"{folder}/scaling.json"] = b'{"scaling_factor": 1.0208}'
    mini.result("Inventec/p9000g7/llama31_8b", TEN, {}, quality=3.29, prefix="0: ")
    isambard = {"submitter": "Isambard", "accelerator_model_name": "NVIDIA GH200 120GB"}
    mini.result("Krai/isambard_n4/llama2_70b_lora", TEN, isambard, quality=0.924)
    mini["NVIDIA/summary.json"] = json.dumps({"score": 1.03}).encode()
    mini["NVIDIA/scripts/results/tuned/gpt_oss_20b/result_0.txt"] = log(1, mini.start())
    mini["NVIDIA/results/theia_ngpu72_nemo/notes/result.md"] = b"see scripts"
    return mini


# Thirteen descriptions with oddities that the published v6.0 has: fields that differ from a plain
# one, and what is right (accelerator, chips, network of a node in Gb/s).
DESCRIPTIONS: dict[str, tuple[dict[str, object], str, int, float | None]] = {
    "b300_ultra": (
        {"accelerator_model_name": "NVIDIA Blackwell Ultra GPU (B300-SXM-270GB)",
         "accelerator_memory_capacity": "275040 MiB"}, "B300", 8, 3200,
    ),
    "b300_word": (
        {"accelerator_model_name": "NVIDIA Blackwell GPU (B300-SXM-270GB)",
         "accelerator_memory_capacity": "275040 MiB"}, "B300", 8, 3200,
    ),
    "b300_front": (
        {"accelerator_model_name": "NVIDIA B300 Blackwell Ultra GPU",
         "accelerator_memory_capacity": "270 GB"}, "B300", 8, 3200,
    ),
    "b300_288": (
        {"accelerator_model_name": "NVIDIA Blackwell Ultra GPU (B300-SXM-288GB)",
         "accelerator_memory_capacity": "288 GB"}, "B300", 8, 3200,
    ),
    # Names of racks count neither nodes nor chips.
    "gb200_rack": (
        {"accelerator_model_name": "NVIDIA Blackwell GPU (GB200)", "number_of_nodes": "2",
         "system_name": "Rack (1x NVIDIA GB200 NVL72)", "accelerators_per_node": "4",
         "host_networking": "4x ConnectX-7 IB NDR 400 Gb/s"}, "GB200", 8, 1600,
    ),
    "gb200_racks": (
        {"accelerator_model_name": "NVIDIA Blackwell GPU (GB200)", "number_of_nodes": "2048",
         "system_name": "Cloud GB200 (128x NVIDIA GB200 NVL72)", "accelerators_per_node": "4",
         "host_networking": "4x ConnectX-8 800 Gb/s Ethernet"}, "GB200", 8192, 3200,
    ),
    "gb200_times": (
        {"accelerator_model_name": "NVIDIA Blackwell GPU (GB200)", "number_of_nodes": "64",
         "accelerator_memory_capacity": "186 GB per GPU", "accelerators_per_node": "4",
         "host_networking": "4\u00d7 NVIDIA ConnectX-7 RoCE 400 Gb/s", "submitter": "Google_1",
         "host_processor_model_name": "Neoverse-V2", "host_processor_core_count": "70"},
        "GB200", 256, 1600,
    ),
    "gb300_tray": (
        {"accelerator_model_name": "NVIDIA Blackwell Ultra GPU (GB300)",
         "accelerators_per_node": "4", "host_networking": "",
         "host_processor_model_name": "Neoverse-V2", "host_processor_core_count": "144"},
        "GB300", 4, None,
    ),
    "gb300_break": (
        {"accelerator_model_name": "NVIDIA Blackwell Ultra GPU (GB300)", "number_of_nodes": 1024,
         "accelerators_per_node": "4", "host_networking":
         "16x 200 Gb/s NVIDIA ConnectX-8 SuperNIC RoCE ports per node (4 cards x 4x200 Gb/s "
         "breakout), connected to Spectrum-X switches"}, "GB300", 4096, 3200,
    ),
    "gh200": (
        {"accelerator_model_name": "NVIDIA Hopper GPU (GH200)", "accelerators_per_node": "4",
         "accelerator_memory_capacity": "96 GB", "host_networking": "N/A",
         "host_processors_per_node": "1", "host_processor_model_name": "Neoverse-V2"},
        "GH200", 4, None,
    ),
    "h200nvl": (
        {"accelerator_model_name": "NVIDIA H200-NVL-141GB",
         "accelerator_memory_capacity": "143771 MiB",
         "host_networking": "Intel Corporation I210 Gigabit Network Connection"},
        "H200", 8, None,
    ),
    "mi300x_gb": (
        {"accelerator_model_name": "AMD Instinct MI300X 192GB HBM3",
         "accelerator_memory_capacity": "192 GiB", "host_networking":
         "Infiniband:Data bandwidth for GPU-PCIe: 504GB/s; PCIe-NIC: 500GB/s",
         "host_network_card_count": "10x 400Gb Infiniband"}, "MI300X", 8, 4000,
    ),
    "mi350x": (
        {"accelerator_model_name": "AMD Instinct MI350X 288GB HBM3e", "number_of_nodes": "2",
         "accelerator_memory_capacity": "288 GB", "other_software_stack": "ROCm 7.0",
         "host_networking": "8x AMD Pensando Pollara 400 AI NIC (400Gb/s RDMA over Ethernet), "
         "2x ConnectX-7"}, "MI350X", 16, 3200,
    ),
}  # fmt: skip


def v6_2() -> Mini:
    mini = Mini(1_646_000_000_000)
    plain = {"host_networking": "8x ConnectX-7 400Gb/s", "number_of_nodes": "1"}
    for name, (fields, *_) in DESCRIPTIONS.items():
        settings = {"submission_platform": "2x8xMI355X"} if name == "mi350x" else {}
        mini.result(f"Acme/{name}/llama31_8b", TEN, plain | fields, quality=3.29, settings=settings)
    return mini


def v6_1() -> Mini:
    mini = Mini(1_645_000_000_000)
    mini.result("NVIDIA/theia/qwen35_397b_grpo", THREE, {}, quality=0.8, prefix="0: ")
    mini.result("NVIDIA/theia/flux1", TEN, quality=0.5, counters={"samples_count": 9_000_000})
    return mini


def v7_0() -> Mini:
    """Nothing of this round is declared; one benchmark is new, one known, one renamed."""
    mini = Mini(1_648_000_000_000)
    new = {
        "accelerator_model_name": "NVIDIA Rubin GPU (VR200)", "submitter": "Newcomer Labs",
        "host_processor_model_name": "NVIDIA Vera CPU", "status": "Available on the moon",
        "a_new_field": {"deep": [1, 2]},
    }  # fmt: skip
    mini.result("Newcomer/vr200_n2/world_model_9t", FIVE, new, quality=0.3)
    mini.result("Newcomer/vr200_n2/llama31_8b", TEN, quality=3.2)
    mini.result("Newcomer/vr200_n2/unet-3d", FORTY, quality=0.91)
    mini["Newcomer/results/vr200_n2/drawings/plan.txt"] = b"nothing"
    return mini


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    makers = {
        "v1.1": v1_1, "v2.1": v2_1, "v3.1": v3_1, "v5.1": v5_1, "v6.0": v6_0, "v6.1": v6_1,
        "v6.2": v6_2, "v7.0": v7_0,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("unseen")
    return build(folder, {round_id: make() for round_id, make in makers.items()})


@pytest.mark.parametrize(
    ("result_id", "benchmark", "score_min", "samples"),
    [
        ("v1.1/Graphcore/pod/bert", "bert", 39, 2_600_000),
        ("v1.1/Google/limit/bert", "bert", 39, 2_500_000),
        ("v1.1/Google/dataset/bert", "bert", 39, None),
        ("v1.1/Azure/nd96/resnet", "resnet", 32, 36 * 1_281_167),
        ("v1.1/Azure/nd96/unet3d", "unet3d", 20.5, 2000 * 168),
        ("v1.1/Azure/nd96/ssd", "ssd", 32, 60 * 117_266),
        ("v1.1/Azure/nd96/rnnt", "rnnt", 39, 65 * 278_528),
        ("v1.1/Dell/4xR750xax4A100-PCIE-80GB/resnet", "resnet", 32, 36 * 1_281_167),
        # 30, 31, 33, 90 and one without a start: 31, 33 and 90 remain, times 1.05
        ("v2.1/ASUSTeK/ESCN4A-E11/dlrm", "dlrm", 154 / 3 * 1.05, 0.75 * 4_195_197_692),
        ("v2.1/xFusion/g5500/ssd", "retinanet", 32, 5 * 1_170_301),
        ("v2.1/xFusion/g5500/minigo", "minigo", 39, None),
        ("v2.1/Intel/16-nodes-SPR-pytorch-open/bert", "bert", 39, None),
        ("v2.1/MosaicML/8xA100_80GB-baseline/resnet", "resnet", 32, 36 * 1_281_167),
        ("v3.1/Dell/epochs/unet3d", "unet3d", 20.5, 2000 * 168),
        ("v3.1/Dell/samples/unet3d", "unet3d", 20.5, 336_000),
        ("v3.1/Habana/hls2/stable_diffusion", "stable_diffusion", 39, 3000 * 256),
        ("v3.1/NVIDIA/eos_n448/gpt3", "gpt3", 12, 1_207_959_552 / 2048),
        ("v5.1/AMD/mi355x/llama31_8b", "llama31_8b", 39, 184_320),
        ("v5.1/AMD/mi355x/flux1", "flux1", 39, 12_000_000),
        ("v5.1/Dell/1xXE9680Lx8B200/rgat", "rgat", 39, 0.9 * 94_605_581),
        ("v6.0/NVIDIA/theia_ngpu72_nemo/gpt_oss_20b", "gpt_oss_20b", 39, 500_000),
        ("v6.0/NVIDIA/theia_ngpu72_nemo_reduced_gbs/gpt_oss_20b", "gpt_oss_20b", 41, 500_000),
        ("v6.0/CoreWeave/gb300_n64/deepseekv3_671b", "deepseekv3_671b", 12 * 1.0208, 90_000),
        ("v6.0/Inventec/p9000g7/llama31_8b", "llama31_8b", 39, None),
        ("v6.0/Krai/isambard_n4/llama2_70b_lora", "llama2_70b_lora", 39, None),
        ("v6.1/NVIDIA/theia/qwen35_397b_grpo", "qwen35_397b_grpo", 12, None),
        ("v6.1/NVIDIA/theia/flux1", "flux1", 39, 9_000_000),
        ("v7.0/Newcomer/vr200_n2/llama31_8b", "llama31_8b", 39, None),
    ],
)
def test_scores_and_samples(
    built: Warehouse, result_id: str, benchmark: str, score_min: float, samples: float | None
) -> None:
    row = built.result(result_id)
    assert row["benchmark"] == benchmark
    assert row["score_min"] == pytest.approx(score_min, rel=1e-12)
    assert row["samples_to_converge"] == pytest.approx(samples)
    if samples is None:
        assert row["throughput_missing_reason"]
    else:
        assert row["throughput_per_s"] == pytest.approx(samples / (row["unscaled_min"] * 60))


@pytest.mark.parametrize(
    ("result_id", "accelerator", "count"),
    [
        ("v1.1/Dell/4xR750xax4A100-PCIE-80GB/resnet", "A100 PCIe 80GB", 16),
        ("v2.1/MosaicML/8xA100_80GB-baseline/resnet", "A100 SXM4 80GB", 8),
        ("v2.1/Intel/16-nodes-SPR-pytorch-open/bert", None, 0),
        ("v5.1/AMD/mi355x/flux1", "Instinct MI355X 288GB", 8),
        ("v6.0/NVIDIA/theia_ngpu72_nemo/gpt_oss_20b", "GB300 (per GPU) 279GB", 72),
        ("v6.0/Krai/isambard_n4/llama2_70b_lora", "GH200 (per GPU) 96GB", 8),
        ("v7.0/Newcomer/vr200_n2/llama31_8b", None, 8),
    ],
)
def test_accelerators(
    built: Warehouse, result_id: str, accelerator: str | None, count: int
) -> None:
    row = built.result(result_id)
    assert (row["accelerator"], row["accelerator_count"]) == (accelerator, count)


def test_no_folder_is_lost_and_none_is_added(built: Warehouse) -> None:
    assert built.quarantine().keys() == {
        "NVIDIA/scripts/results/tuned/gpt_oss_20b",
        "NVIDIA/results/theia_ngpu72_nemo/notes",
        "Newcomer/results/vr200_n2/drawings",
    }
    unscored = built.rows("select result_id from marts.result where score_min is null")
    assert {row["result_id"] for row in unscored} == {
        "v7.0/Newcomer/vr200_n2/world_model_9t",
        "v7.0/Newcomer/vr200_n2/unet-3d",
    }


def test_strays_are_no_runs(built: Warehouse) -> None:
    assert built.result("v1.1/Azure/nd96/resnet")["run_count"] == 5
    dlrm = built.result("v2.1/ASUSTeK/ESCN4A-E11/dlrm")
    assert (dlrm["run_count"], dlrm["converged_run_count"]) == (5, 4)
    kinds = built.rows(
        "select kind, count(*) as n from raw.source_file where ignored_reason is not null "
        "and round_id in ('v1.1', 'v2.1', 'v3.1') group by kind"
    )
    assert {row["kind"]: row["n"] for row in kinds} == {"extra_log": 4, "stray": 2}


def test_an_unknown_benchmark_is_a_row_without_a_score_and_an_issue(built: Warehouse) -> None:
    row = built.result("v7.0/Newcomer/vr200_n2/world_model_9t")
    assert (row["run_count"], row["converged_run_count"]) == (5, 5)
    assert (row["score_min"], row["score_missing_reason"]) == (None, "unknown_benchmark")
    assert row["worst_issue"].startswith("error")


def test_names_of_a_new_round_are_issues_and_never_guessed(built: Warehouse) -> None:
    row = built.result("v7.0/Newcomer/vr200_n2/llama31_8b")
    assert (row["accelerator"], row["accelerator_family"], row["host_cpu"]) == (None, None, None)
    assert (row["availability"], row["submitter"]) == (None, "Newcomer Labs")
    kinds = {row["kind"] for row in built.rows("select * from marts.issue where round_id = 'v7.0'")}
    assert {
        "unresolved_accelerator", "unresolved_cpu", "unresolved_status", "unresolved_submitter",
        "unknown_system_field",
    } <= kinds  # fmt: skip
    assert row["issue_count"] >= 5


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_descriptions_with_the_oddities_of_v6_0(built: Warehouse, name: str) -> None:
    _, family, chips, network = DESCRIPTIONS[name]
    row = built.result(f"v6.2/Acme/{name}/llama31_8b")
    assert (row["accelerator_family"], row["accelerator_count"]) == (family, chips)
    (described,) = built.rows(
        "select * from marts.system where round_id = 'v6.2' and system_folder = ?", name
    )
    assert described["network_gbps_per_node"] == network
    if family == "B300":
        assert described["accelerator_architecture"] == "Blackwell Ultra"
    if "Neoverse-V2" in str(described["host_cpu_reported"]):
        assert described["cores_per_socket"] == 72  # whatever 144 and 70 say


def test_oddities_of_v6_0_are_issues(built: Warehouse) -> None:
    word = built.file_kinds("Acme/systems/b300_word.json")
    assert "accelerator_contradiction" in word
    assert "accelerator_contradiction" not in built.file_kinds("Acme/systems/b300_front.json")
    assert "accelerator_log_vs_description" in built.file_kinds("Acme/systems/mi350x.json")
    assert built.result("v6.2/Acme/gb200_times/llama31_8b")["submitter"] == "Google"
    # Acme is no misspelling of anybody.
    (issue,) = built.rows(
        "select distinct message from marts.issue where round_id = 'v6.2' "
        "and kind = 'unresolved_submitter'"
    )
    assert issue["message"] == "submitter 'Acme' is not known"
    accelerators = {
        row["system_folder"]: row["accelerator"]
        for row in built.rows("select * from marts.system where round_id = 'v6.2'")
    }
    assert accelerators["gh200"] == "GH200 (per GPU) 96GB"
    assert accelerators["h200nvl"] == "H200 NVL 141GB"


def test_an_undeclared_benchmark_names_the_lines_that_it_lacks(built: Warehouse) -> None:
    seen = [SeenRun(*row) for row in built.con.execute(SEEN_RUNS_SQL, ["v7.0"]).fetchall()]
    counted = [name for (name,) in built.con.execute(COUNTED_BENCHMARKS_SQL, ["v7.0"]).fetchall()]
    text = missing_declarations("v7.0", seen, counted, declared_rounds())
    assert "  world_model_9t: {runs: 5, drop: 1, max_nonconverged: 1}" in text
    assert "  v7.0: {published_on: " in text
    assert "world_model_9t,v7.0,,1," in text
    assert "llama31_8b,v7.0" not in text  # its counter is declared without an end
    messages = {
        row["kind"]: row["message"]
        for row in built.rows("select * from marts.issue where result_id like '%world_model_9t'")
    }
    assert "warehouse/rounds.yml" in messages["unknown_benchmark"]
    assert "warehouse/lookups/samples.csv" in messages["counter_not_declared"]


def test_people_of_v6_0(built: Warehouse) -> None:
    assert built.result("v6.0/Krai/isambard_n4/llama2_70b_lora")["submitter"] == "Isambard"
    row = built.result("v6.0/CoreWeave/gb300_n64/deepseekv3_671b")
    assert (row["availability"], row["is_on_premises"]) == ("available", False)
    (system_row,) = built.rows(
        "select * from marts.system where round_id = 'v6.0' and system_folder = 'gb300_n64'"
    )
    assert system_row["network_gbps_per_node"] == 3200
    assert system_row["accelerator_domain_size"] == 72
    joint = built.result("v3.1/NVIDIA/eos_n448/gpt3")
    assert (joint["submitter"], joint["accelerator_count"]) == ("CoreWeave+NVIDIA", 3584)


@pytest.mark.parametrize(
    ("result_id", "span_id"),
    [
        ("v1.1/Azure/nd96/rnnt", "rnnt v1.1 to v3.1"),
        ("v1.1/Azure/nd96/ssd", "ssd v0.6 to v1.1"),
        ("v2.1/xFusion/g5500/ssd", "retinanet v2.0 to v5.1"),
        ("v2.1/xFusion/g5500/minigo", "minigo v0.7 to v2.1"),
        ("v5.1/AMD/mi355x/flux1", "flux1 v5.1 to v6.1"),
        ("v6.0/Inventec/p9000g7/llama31_8b", "llama31_8b v5.1 to v6.1"),
        ("v6.1/NVIDIA/theia/flux1", "flux1 v5.1 to v6.1"),
        # What no table covers stands alone until it is declared.
        ("v7.0/Newcomer/vr200_n2/llama31_8b", "llama31_8b v7.0"),
        ("v7.0/Newcomer/vr200_n2/world_model_9t", "world_model_9t v7.0"),
    ],
)
def test_spans(built: Warehouse, result_id: str, span_id: str) -> None:
    assert built.result(result_id)["span_id"] == span_id


def test_per_accelerator_figures_are_read_as_such(built: Warehouse) -> None:
    """130 a second and accelerator: 1,040 of the system, against 5 x 1,170,301 / 1,920 s."""
    row = built.result("v2.1/xFusion/g5500/ssd")
    assert row["logged_throughput_per_s"] == pytest.approx(1040)
    assert row["logged_ratio"] == pytest.approx(1040 / (5 * 1_170_301 / 1920))


def test_the_open_division_is_not_scaled_and_the_log_does_not_decide(built: Warehouse) -> None:
    row = built.result("v2.1/Intel/16-nodes-SPR-pytorch-open/bert")
    assert (row["division"], row["scaling_factor"]) == ("open", 1)
    assert row["accelerator_minutes"] is None
