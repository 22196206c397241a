"""Counts, memory and network speed out of filed text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpurank.systems.quantities import (
    count,
    is_network_lower_bound,
    memory_gib,
    network_gbps,
)


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["8", "8.0", " 8 ", "8e0"], 8),
        (["0"], 0),
        ([None, "", "N/A", "1.5", "-1", "8 + 4", "inf", "nan", "9" * 40, "1_0"], None),
    ],
)
def test_counts(texts: list[str | None], value: int | None) -> None:
    assert [count(text) for text in texts] == [value] * len(texts)


@pytest.mark.parametrize(
    ("text", "gib"),
    [
        ("2 TB", 2048),
        ("2.0 TB", 2048),
        ("2TiB", 2048),
        ("1024 GB", 1024),
        ("1.024 TB", 1024),
        ("2.048 TB", 2048),
        ("80 GB", 80),
        ("80G", 80),
        ("24 x 32GB RDIMM, 3200MT/s, Dual Rank", 768),
        ("189471 MiB", 189471 / 1024),
        ("263.863808 GB", 263.863808),
        ("2,048 GB", 2048),
        ("81,559 MiB", 81559 / 1024),
    ],
)
def test_memory(text: str, gib: float) -> None:
    assert memory_gib(text) == pytest.approx(gib)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "SSD",
        "TODO",
        "512",
        "2T GB",
        "Node1: 2.2 TB, Node2: 1.5 TB",
        "16 GB + 32 GB",
        "2,5 TB",
        "2e3 GB",
        "-2 TB",
        "64 GB x 32",
        "1 TB per socket",
        "2000000 TB",
        "1.2.3 TB",
    ],
)
def test_ambiguous_memory(text: str | None) -> None:
    assert memory_gib(text) is None


def test_a_bare_number_has_the_unit_of_its_description() -> None:
    assert (memory_gib("512", "GB"), memory_gib("384G", "GB")) == (512, 384)


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("4x ConnectX-7 IB NDR 400Gb/s", 1600),
        ("8x 400Gb/s", 3200),
        (
            "Storage: 2x ConnectX-7 400Gb/s, Compute: 8x ConnectX-7 IB 400Gb/s, Management: 1Gb/s",
            3200,
        ),
        ("Management: 2x 100Gb/s, Compute: 4 x ConnectX-6 HDR 200 Gb/Sec", 800),
        ("1x Ethernet 80Gb/Sec, 8x NVIDIA NDR (400Gb/s)", 3200),
        ("8x ConnectX-7 400Gb/s + 200Gb/s Ethernet NIC", 3200),
        ("16x 200 Gb/s ports per node (4 cards x 4x200 Gb/s breakout)", 3200),
        ("1 X 100G", 100),
        ("Intel X710 2x10GbE SFP+", 20),
        ("1x Intel X550T 10GbE, 9x ConnectX-7 400Gb/s NDR IB", 3600),
        ("2 100Gbe + 2 10Gbe", 200),
    ],
)
def test_network(text: str, gbps: float) -> None:
    assert network_gbps(text) == gbps


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "N/A",
        "Infiniband, Ethernet",
        "InfiniBand 100 Gb/sec (4X EDR)",
        "1x 400Gb/s per GPU",
        "8 GPUs x 1x 400Gb/s",
        "8 GPUs, 1x ConnectX-7 400Gb/s per accelerator",
        "8x2x200Gb/s",
        "2x 8x 400Gb/s",
        "4x 2-port 200Gb/s",
        "0x 400Gb/s",
        "8x 0Gb/s",
        "999999x 400Gb/s",
        "25Gbps",
        "Management: 1x ConnectX-5 Ethernet 100Gb/Sec",
        "Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s",
        "2x Mellanox ConnectX-6, 100Gb/s Ethernet",
        "2x10GbE, ConnectX-6 100GbE",
        "2x dual-port 100GbE",
        "1x 10G Controller, 1x ConnectX-7",
        "Node1: 8x 400Gb/s, Node2: 4x 400Gb/s",
        "BCM57414 10Gb/25Gb",
    ],
)
def test_ambiguous_networks(text: str | None) -> None:
    assert network_gbps(text) is None


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_none(text: str) -> None:
    for value in (count(text), memory_gib(text), network_gbps(text)):
        assert value is None or value >= 0


@pytest.mark.parametrize(
    ("text", "speed", "is_lower_bound"),
    [
        ("8x NIC (400Gb/s RDMA over Ethernet), 2x ConnectX-7", 3200, True),
        ("8x ConnectX-7 400Gb/s", 3200, False),
        # As many or more ports of unknown speed may be the faster network.
        ("8x NIC 400Gb/s, 8x ConnectX-8", None, False),
        ("8x NIC 400Gb/s, 10x ConnectX-8", None, False),
        ("1x BCM57416 10G RDMA Ethernet Controller, 1x MT2910 Family", None, False),
        (None, None, False),
    ],
)
def test_few_ports_without_a_speed_make_a_lower_bound(
    text: str | None, speed: float | None, is_lower_bound: bool
) -> None:
    assert network_gbps(text) == speed
    assert is_network_lower_bound(text) is is_lower_bound
