"""What spellings mean: known ones, unseen ones by a safe rule, and those that stay unresolved."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.systems.accelerators import models
from gpurank.systems.identity import (
    Kind,
    resolve,
    resolve_one,
    spelling_issues,
    spelling_table,
    system_accelerators,
)
from gpurank.systems.platforms import named_families, platform_issues
from gpurank.systems.spellings import rows


@pytest.mark.parametrize(
    ("reported", "family", "memory", "form"),
    [
        ("NVIDIA Blackwell Ultra GPU (GB300)", "GB300", 279, "superchip"),
        ("NVIDIA GB300-NVL72", "GB300", 279, "superchip"),
        ("NVIDIA Blackwell GPU (B200-SXM-180GB)", "B200", 180, "SXM"),
        ("AMD Instinct MI355X (288GB HBM3e)", "MI355X", 288, "OAM"),
        ("AMD MI300X", "MI300X", 192, "OAM"),
        ("8x NVIDIA H100-SXM5-80GB (700W)", "H100", 80, "SXM5"),
        ("NVIDIA A100 80GB PCIe", "A100", 80, "PCIe"),
        ("nvidia a100-sxm-40gb(400w)", "A100", 40, "SXM4"),
        ("H100 PCIe 94GB", "H100", 94, "PCIe NVL"),
        ("NVIDIA H200 NVL", "H200", 141, "PCIe NVL"),
        ("Intel® Gaudi® 3 AI Accelerator", "Gaudi3", 128, "OAM"),
        ("Google Cloud TPU v5p", "TPUv5p", 95, "custom board"),
        ("tpuv3-2048", "TPUv3", 32, "custom board"),
        ("Tesla V100-SXM3-32GB-H", "V100", 32, "SXM3"),
        ("Graphcore Bow IPU", "Bow IPU", None, "Bow-2000"),
    ],
)
def test_accelerators(reported: str, family: str, memory: float | None, form: str) -> None:
    match = resolve_one("accelerator", reported, "v6.0")
    assert match.method in ("lookup", "rule")
    found = (match.values["family"], match.values["memory_gb"], match.values["form_factor"])
    assert found == (family, memory, form)


@pytest.mark.parametrize(
    "reported",
    [
        "NVIDIA A100-SXM4-48GB",  # no such memory
        "AMD H100",  # another vendor's
        "NVIDIA H100-SXM5-80GB HBM2e",  # that is the PCIe card's memory
        "NVIDIA Blackwell GPU",  # which one?
        "NVIDIA H100X",
        "NVIDIA H100 MIG 1g.10gb",
        "NVIDIA H100-80GB-96GB",
        "NVIDIA Rubin R100",
        "NVIDIA V100-SXM3-32GB (400W)",
        "TPU",  # said so in two rounds only
        "mystery",
    ],
)
def test_accelerators_that_stay_unresolved(reported: str) -> None:
    match = resolve_one("accelerator", reported, "v6.0")
    assert match.method == "unresolved"
    assert match.values == {}


def test_a_bare_tpu_means_v4_only_where_it_was_filed_so() -> None:
    frame = resolve("accelerator", ["TPU", "TPU", "TPU"], ["v0.7", "v1.0", "v1.1"])
    assert frame["family"].to_list() == ["TPUv4", "TPUv4", None]


def test_what_variants_share_stands_and_the_rest_is_blank() -> None:
    values = resolve_one("accelerator", "NVIDIA A100-80GB", None).values
    assert (values["family"], values["memory_gb"]) == ("A100", 80)
    assert values["form_factor"] is None and values["link_rank"] is None
    assert resolve_one("accelerator", "NVIDIA H100 SXM", None).values["link_rank"] == 3
    # The power tells two parts of one form apart.
    for watts in (350, 450):
        part = resolve_one("accelerator", f"NVIDIA V100-SXM3-32GB ({watts}W)", None)
        assert part.values["tdp_w"] == watts


@pytest.mark.parametrize("family", ["A800", "H800", "P100", "H200", "GH200"])
def test_a_bare_name_claims_no_variant(family: str) -> None:
    values = resolve_one("accelerator", f"NVIDIA {family} GPU", "v6.0").values
    assert values["family"] == family
    assert values["memory_gb"] is None or values["form_factor"] is None


@pytest.mark.parametrize(
    ("reported", "family", "architecture", "overruled"),
    [
        # Four spellings of one chip in v6.0: Blackwell Ultra, even where "Blackwell" is filed.
        ("NVIDIA Blackwell Ultra GPU (B300-SXM-270GB)", "B300", "Blackwell Ultra", None),
        ("NVIDIA Blackwell Ultra GPU (B300-SXM-288GB)", "B300", "Blackwell Ultra", None),
        ("NVIDIA B300 Blackwell Ultra GPU", "B300", "Blackwell Ultra", None),
        ("NVIDIA Blackwell GPU (B300-SXM-270GB)", "B300", "Blackwell Ultra", "Blackwell"),
        ("NVIDIA Blackwell GPU (GB300)", "GB300", "Blackwell Ultra", "Blackwell"),
        ("NVIDIA Hopper GPU (B200)", "B200", "Blackwell", "Hopper"),
        ("NVIDIA Ampere H100 PCIe", "H100", "Hopper", "Ampere"),
    ],
)
def test_the_chip_name_wins_over_an_architecture_word(
    reported: str, family: str, architecture: str, overruled: str | None
) -> None:
    match = resolve_one("accelerator", reported, "v6.0")
    assert (match.values["family"], match.values["architecture"]) == (family, architecture)
    if overruled is None:
        assert match.note is None
    else:
        assert match.note == (
            f"it says {overruled}, but {family} is {architecture}; the chip's name counts"
        )


@pytest.mark.parametrize(
    ("reported", "memory", "accelerator"),
    [
        ("NVIDIA Hopper GPU (GH200)", "96 GB", "GH200 (per GPU) 96GB"),
        ("NVIDIA Hopper GPU (GH200)", "98304 MiB", "GH200 (per GPU) 96GB"),
        ("NVIDIA Hopper GPU (GH200)", "144GB", "GH200 (per GPU) 144GB"),
        ("NVIDIA Hopper GPU (GH200)", "120 GB", "GH200 (variant unstated)"),  # of neither
        ("NVIDIA Hopper GPU (GH200)", "TODO", "GH200 (variant unstated)"),
        ("NVIDIA Hopper GPU (GH200)", None, "GH200 (variant unstated)"),
        ("NVIDIA H100", "94 GB", "H100 NVL 94GB"),
        ("NVIDIA H100", "80 GB", "H100 (variant unstated)"),  # SXM5 and PCIe both have 80 GB
        ("NVIDIA A100-PCIE-80GB", "40 GB", "A100 PCIe 80GB"),  # a full name is not contradicted
    ],
)
def test_filed_memory_chooses_between_variants_that_the_name_leaves_open(
    reported: str, memory: str | None, accelerator: str
) -> None:
    systems = pl.DataFrame(
        {
            "round_id": ["v6.0"],
            "path": ["A/systems/s.json"],
            "accelerator_reported": [reported],
            "accelerator_memory_reported": [memory],
        },
        schema_overrides={"accelerator_memory_reported": pl.String},
    )
    (row,) = system_accelerators(systems).rows(named=True)
    assert (row["path"], row["accelerator"]) == ("A/systems/s.json", accelerator)


@pytest.mark.parametrize(
    ("platform", "families"),
    [
        ("8xMI355X_2xEPYC_9575F", {"MI355X"}),
        ("1xXE9680Lx8B200", {"B200"}),
        ("gb200nvl72", {"GB200"}),  # not B200
        ("BM.GPU.H100.8", {"H100"}),
        ("GX2560M7_H100_SXM_80GBx4", {"H100"}),
        ("1xSUBMISSION_PLATFORM_PLACEHOLDER", set()),
        ("1xNF5688M6", set()),
        ("R750xa", set()),
        (None, set()),
    ],
)
def test_chips_that_a_platform_names(platform: str | None, families: set[str]) -> None:
    assert named_families(platform) == families


def test_logs_and_description_that_name_different_chips_are_an_issue() -> None:
    platforms = pl.DataFrame(
        [
            ("v6.0", "a.json", "8xMI355X"),
            ("v6.0", "b.json", "8xMI350X"),
            ("v6.0", "c.json", "some server"),
            ("v6.0", "d.json", "8xMI355X"),
        ],
        schema=["round_id", "path", "platform_reported"],
        orient="row",
    )
    accelerators = pl.DataFrame(
        {"round_id": ["v6.0"] * 4, "path": [f"{x}.json" for x in "abcd"],
         "family": ["MI350X", "MI350X", "MI350X", None]}
    )  # fmt: skip
    (row,) = platform_issues(platforms, accelerators).rows(named=True)
    assert (row["kind"], row["source_file"]) == ("accelerator_log_vs_description", "a.json")
    assert row["message"] == (
        "its logs call the platform '8xMI355X', which names MI355X; "
        "the description names MI350X, which counts"
    )


@pytest.mark.parametrize("reported", ["", " ", "N/A", "TODO", "-", "none", None])
@pytest.mark.parametrize("kind", ["accelerator", "cpu", "submitter", "status", "division"])
def test_placeholders_are_blank(kind: Kind, reported: str | None) -> None:
    assert resolve_one(kind, reported).method == "blank"


def test_an_unresolved_one_names_the_closest() -> None:
    assert resolve_one("accelerator", "NVIDIA H200-SXM5-142GB").closest == "H200 SXM5 141GB"
    assert resolve_one("cpu", "AMD EPYC 9755F").closest == "EPYC 9755"
    assert resolve_one("accelerator", "AMD Instict MI300X").closest == "Instinct MI300X 192GB"
    # A digit too many is a slip of the hand; another digit is another chip.
    assert str(resolve_one("accelerator", "NVIDIA H1000").closest).startswith("H100 ")
    assert resolve_one("cpu", "AMD EPYC 975F5").closest is not None


@pytest.mark.parametrize(
    ("kind", "reported"),
    [
        ("submitter", "Acme"),
        ("submitter", "Vultr"),
        ("submitter", "Newcomer Labs"),
        ("accelerator", "NVIDIA Rubin GPU (VR200)"),
        ("accelerator", "AMD Instinct MI400X"),  # other digits: another chip
        ("cpu", "AMD EPYC 9999"),
        ("cpu", "NVIDIA Vera CPU"),
        ("status", "Available on the moon"),
        ("division", "clopen to all"),
    ],
)
def test_where_nothing_is_near_no_name_is_suggested(kind: Kind, reported: str) -> None:
    match = resolve_one(kind, reported)
    assert (match.method, match.closest) == ("unresolved", None)


@pytest.mark.parametrize(
    ("reported", "cpu", "cores"),
    [
        ("AMD EPYC 9965 192-Core Processor", "EPYC 9965", 192),
        ("2x AMD EPYC 9575F 64-Core", "EPYC 9575F", 64),
        ("INTEL(R) XEON(R) PLATINUM 8570", "Xeon Platinum 8570", 56),
        ("Intel(R)Xeon(R)Platinum 8490H CPU @ 1.90GHz", "Xeon Platinum 8490H", 60),
        ("Intel Xeon 8480+", "Xeon Platinum 8480+", 56),
        ("Intel(R) Xeon(R) Platinum 8480C", "Xeon Platinum 8480C", 56),
        ("Intel(R) Xeon(R) 6776P", "Xeon 6776P", 64),
        ("AMD EPYC 9354P", "EPYC 9354", 32),
        ("AMD EYPC 7513", "EPYC 7513", 32),
        ("Intel(R) Xeon(R) Gold 8280 CPU @ 2.60GHz", "Xeon Platinum 8280", 28),
        ("Neoverse-V2", "NVIDIA Grace (Arm Neoverse-V2)", 72),
        ("AMD EPYC 7763 32-Core Processor", "EPYC 7763", 64),
    ],
)
def test_processors(reported: str, cpu: str, cores: int) -> None:
    values = resolve_one("cpu", reported).values
    assert (values["cpu"], values["cores_per_socket"]) == (cpu, cores)


@pytest.mark.parametrize(
    "reported", ["AMD EPYC 9999", "Intel Xeon Gold 8570", "Xeon Platinum", "POWER10", "8570"]
)
def test_processors_that_stay_unresolved(reported: str) -> None:
    assert resolve_one("cpu", reported).method == "unresolved"


def test_different_processors_in_one_system_share_what_they_share() -> None:
    values = resolve_one("cpu", "Node1: AMD EPYC 9755, Node2: AMD EPYC 9575F").values
    assert values["cpu"] == "mixed: EPYC 9755 + EPYC 9575F"
    assert (values["vendor"], values["generation"]) == ("AMD", "Turin")
    assert values["cores_per_socket"] is None


@pytest.mark.parametrize(
    ("reported", "submitter", "members"),
    [
        ("Dell EMC", "Dell", ["Dell"]),
        ("smc-ac-power", "Sustainable Metal Cloud", ["Sustainable Metal Cloud"]),
        ("SUPERMICRO", "Supermicro", ["Supermicro"]),
        ("HabanaLabs", "Intel-HabanaLabs", ["Intel-HabanaLabs"]),
        ("IBM+CoreWeave+NVIDIA", "CoreWeave+IBM+NVIDIA", ["CoreWeave", "IBM", "NVIDIA"]),
        ("CoreWeave + IBM + NVIDIA", "CoreWeave+IBM+NVIDIA", ["CoreWeave", "IBM", "NVIDIA"]),
        ("RedHat-Supermicro", "Red Hat+Supermicro", ["Red Hat", "Supermicro"]),
        ("Oracle & Cisco", "Cisco+Oracle", ["Cisco", "Oracle"]),
        ("Super Micro Computer, Inc.", "Supermicro", ["Supermicro"]),
        ("NVIDIA Corporation + Dell Inc.", "Dell+NVIDIA", ["Dell", "NVIDIA"]),
        ("Google_1", "Google", ["Google"]),
        ("Red Hat 2", "Red Hat", ["Red Hat"]),
        ("NVIDIA-CoreWeave (2)", "CoreWeave+NVIDIA", ["CoreWeave", "NVIDIA"]),
    ],
)
def test_submitters(reported: str, submitter: str, members: list[str]) -> None:
    values = resolve_one("submitter", reported).values
    assert (values["submitter"], values["members"]) == (submitter, members)
    assert values["is_joint"] == (len(members) > 1)


@pytest.mark.parametrize(
    ("reported", "closest"),
    # A number is part of a name that is not known without it.
    [("Nvidea", "NVIDIA"), ("Acme_1", None), ("H3C2", "H3C"), ("Studio 54", None)],
)
def test_a_new_submitter_keeps_its_name_and_stays_unresolved(
    reported: str, closest: str | None
) -> None:
    match = resolve_one("submitter", reported)
    assert (match.method, match.values["submitter"]) == ("unresolved", reported)
    assert match.closest == closest


# More spellings stand in tests/cases/test_numbered_cases.py (25).
@pytest.mark.parametrize(
    ("reported", "availability", "is_on_premises"),
    [
        ("on-prem", "available", True),
        ("Available on premises", "available", True),
        ("cloud", "available", False),
        ("Available Cloud", "available", False),
        ("available", "available", None),
        ("Preview on-premise", "preview", True),
        ("research", "research", None),
    ],
)
def test_statuses(reported: str, availability: str, is_on_premises: bool | None) -> None:
    values = resolve_one("status", reported).values
    assert (values["availability"], values["is_on_premises"]) == (availability, is_on_premises)


@pytest.mark.parametrize(
    "reported", ["avail", "available preview", "cloud on-premise", "soon", "in the"]
)
def test_an_unknown_status_is_never_available(reported: str) -> None:
    assert resolve_one("status", reported).method == "unresolved"
    assert resolve_one("status", reported).values == {}


@pytest.mark.parametrize(
    ("reported", "values"),
    [
        ("close", {"division": "closed"}),
        ("Closed", {"division": "closed"}),
        (" open ", {"division": "open"}),
        ("clopen", {}),
    ],
)
def test_divisions(reported: str, values: dict[str, str]) -> None:
    assert resolve_one("division", reported).values == values


@pytest.mark.parametrize(
    ("reported", "framework"),
    [
        ("PyTorch NVIDIA Release 24.04", "PyTorch"),
        ("NVIDIA PyTorch/MxNeti/DGL", "DGL+MXNet+PyTorch"),
        ("TensorFlow 1.15 Poplar SDK 2.5.1", "TensorFlow"),
        ("TenorFLow 2.2", "TensorFlow"),
        ("research-tf", "TensorFlow"),
        ("NVIDIA Merlin HugeCTR Release 24.04", "HugeCTR"),
        ("maxtext", "JAX"),
        ("PopART Poplar SDK 2.1.0", "PopART"),
        ("ROCm 6.4.0-47", None),
        ("NGC MLPerf v4.0", None),
    ],
)
def test_frameworks(reported: str, framework: str | None) -> None:
    assert resolve("framework", [reported])["framework"].to_list() == [framework]


def test_one_row_a_spelling_and_an_issue_for_each_description_of_an_unresolved_one() -> None:
    systems = pl.DataFrame(
        {
            "round_id": ["v9.0", "v9.0", "v9.0", "v9.1"],
            "path": ["a", "b", "c", "d"],
            "accelerator_reported": ["NVIDIA H100-SXM5-80GB", "Odd", "Odd", None],
        }
    )
    table = spelling_table("accelerator", systems)
    assert table.select("round_id", "reported").rows() == [
        ("v9.0", "NVIDIA H100-SXM5-80GB"),
        ("v9.0", "Odd"),
    ]
    issues = spelling_issues({"accelerator": table}, systems)
    assert issues.select("round_id", "level", "kind", "source_file").rows() == [
        ("v9.0", "warning", "unresolved_accelerator", "b"),
        ("v9.0", "warning", "unresolved_accelerator", "c"),
    ]


def test_every_listed_model_is_understood_by_its_own_name_or_keys() -> None:
    for name, row in models().items():
        if row["is_fallback"] == "true":
            continue
        key = row["keys"].split(";")[0]
        memory = f" {row['memory_gb']}GB" if row["memory_gb"] else ""
        form = row["form_factor"] if row["form_factor"][:3] in ("SXM", "PCI", "OAM") else ""
        found = resolve_one("accelerator", f"{key} {form}{memory}").values
        assert found.get("accelerator") == name, name


def test_listed_spellings_name_listed_models() -> None:
    assert {row["model"] for row in rows("accelerator_spelling")} <= set(models())
    cpus = {row["model"] for row in rows("cpu")}
    assert {row["model"] for row in rows("cpu_spelling")} <= cpus


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(
        ["accelerator", "cpu", "submitter", "status", "division", "framework", "network"]
    ),
    st.text(max_size=30),
)
def test_any_text_has_one_of_four_outcomes(kind: Kind, text: str) -> None:
    assert resolve_one(kind, text, "v9.0").method in ("lookup", "rule", "unresolved", "blank")
