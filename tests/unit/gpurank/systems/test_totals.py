"""Counts of systems: the product, its declared exceptions, hosts, memory, links."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from gpurank.systems.descriptions import reported_columns
from gpurank.systems.identity import identity_tables
from gpurank.systems.totals import SCHEMA, totals

BASE: dict[str, Any] = {
    **dict.fromkeys(reported_columns()),
    "round_id": "v9.0",
    "path": "S/systems/x.json",
    "submitter_folder": "S",
    "package_folder": None,
    "system_folder": "x",
    "parse_dialect": "json",
    "node_count_reported": "2",
    "accelerators_per_node_reported": "8",
    "accelerator_reported": "NVIDIA H100-SXM5-80GB",
    "host_cpus_per_node_reported": "2",
    "host_cpu_reported": "AMD EPYC 9655",
    "host_cpu_core_count_reported": "96",
    "host_memory_reported": "2 TB",
}


def frame(*changes: dict[str, Any]) -> pl.DataFrame:
    records = [BASE | change for change in changes]
    return pl.DataFrame(records, schema=dict.fromkeys(BASE, pl.String))


def system_total(**changes: Any) -> dict[str, Any]:
    return totals(frame(changes)).row(0, named=True)


def test_the_product_and_the_host() -> None:
    row = system_total()
    assert row["accelerator_count"] == 16
    assert (row["socket_count"], row["core_count"], row["cores_per_socket"]) == (4, 384, 96)
    assert (row["memory_per_node_gib"], row["accelerator_domain_size"]) == (2048, 8)
    assert row["explanation"] is None and row["is_low_confidence"] is False


# Forms of a count stand in tests/cases/test_hostile.py.
@pytest.mark.parametrize("filed", [None, "TBD", "4 + 4"])
def test_a_missing_number_of_nodes_is_a_reason_not_a_guess(filed: str | None) -> None:
    row = system_total(node_count_reported=filed)
    assert row["accelerator_count"] is None and row["core_count"] is None
    assert "number of nodes" in row["count_missing_reason"]


@pytest.mark.parametrize(
    ("filed", "note"),
    [("192", "node's total"), ("384", "threads"), ("6", "6 cores are filed")],
)
def test_the_reference_wins_over_the_filed_core_count(filed: str, note: str) -> None:
    row = system_total(host_cpu_core_count_reported=filed)
    assert (row["cores_per_socket"], row["core_count"]) == (96, 384)
    assert note in row["explanation"]


@pytest.mark.parametrize(
    ("cpu", "filed", "status", "per_socket", "cores"),
    [
        ("AMD EPYC 7V12", "48", "Available cloud", 64, 256),  # a virtual machine sees fewer
        ("Intel(R) Xeon(R) Platinum 8481C", "208", None, None, None),  # not public
        ("AMD EPYC 9999", "100", None, 100, 400),  # unknown: as filed
    ],
)
def test_doubtful_processors(
    cpu: str, filed: str, status: str | None, per_socket: int | None, cores: int | None
) -> None:
    row = system_total(
        host_cpu_reported=cpu, host_cpu_core_count_reported=filed, status_reported=status
    )
    assert (row["cores_per_socket"], row["core_count"]) == (per_socket, cores)
    assert row["socket_count"] == 4 and row["is_low_confidence"]
    assert ("virtual machine" in (row["explanation"] or "")) == (status is not None)


def test_mixed_hosts_add_up_only_if_every_node_is_named() -> None:
    mixed = "Node1: AMD EPYC 9755, Node2: AMD EPYC 9575F"
    row = system_total(host_cpu_reported=mixed, host_memory_reported="Node1: 2.2 TB, Node2: 1.5 TB")
    assert row["core_count"] == 2 * 128 + 2 * 64
    assert row["cores_per_socket"] is None and row["memory_per_node_gib"] is None
    assert row["is_low_confidence"]
    assert system_total(host_cpu_reported=mixed, node_count_reported="3")["core_count"] is None


@pytest.mark.parametrize("filed", ["0", None])
def test_systems_without_accelerators(filed: str | None) -> None:
    row = system_total(accelerators_per_node_reported=filed, accelerator_reported="N/A")
    assert (row["accelerator_count"], row["socket_count"]) == (0, 4)
    assert row["count_missing_reason"] is None and row["accelerator_domain_size"] is None


def test_no_accelerators_of_a_named_model_is_a_contradiction() -> None:
    row = system_total(accelerators_per_node_reported="0")
    assert row["accelerator_count"] is None and "named" in row["count_missing_reason"]


def test_a_named_domain_wins() -> None:
    row = system_total(accelerators_per_node_reported="4", accelerator_reported="NVIDIA GB200 NVL4")
    assert row["accelerator_domain_size"] == 4


@pytest.mark.parametrize(
    ("name", "chip", "nodes", "per_node", "total"),
    [
        ("tpu-v4-4096", "TPU-v4", "512", "4", 2048),
        ("tpu-v3-1024", "tpu-v3", "1", "512", 512),
        ("cloud-tpu-v5p-8192-maxtext", "TPU-v5p", "1024", "4", 4096),
        ("cloud-tpu-trillium-256", "TPU-trillium", "64", "4", 256),
    ],
)
def test_tpu_names_count_cores(name: str, chip: str, nodes: str, per_node: str, total: int) -> None:
    row = system_total(
        system_folder=name,
        accelerator_reported=chip,
        node_count_reported=nodes,
        accelerators_per_node_reported=per_node,
    )
    assert row["accelerator_count"] == total
    assert ("trillium" in name) == ("counts cores" not in (row["explanation"] or ""))


def test_a_tpu_name_that_fits_nothing_is_doubtful() -> None:
    row = system_total(system_folder="tpu-v4-512", accelerator_reported="TPU-v4")
    assert row["accelerator_count"] == 16 and row["is_low_confidence"]


@pytest.mark.parametrize(
    ("chip", "nodes", "filed", "total", "per_node"),
    [("tpuv2-512", "64", "512", 256, 4), ("tpuv3-32", "2", "32", 16, 8)],
)
def test_a_slice_in_the_first_shape_counts_cores(
    chip: str, nodes: str, filed: str, total: int, per_node: int
) -> None:
    row = system_total(
        parse_dialect="v05_entry",
        accelerator_reported=chip,
        node_count_reported=nodes,
        accelerators_per_node_reported=filed,
    )
    assert (row["accelerator_count"], row["accelerators_per_node"]) == (total, per_node)
    assert "cores" in row["explanation"]


@pytest.mark.parametrize(
    ("cpu", "filed", "sockets", "cores", "total"),
    [
        ("2x Intel(R) Xeon(R) CPU E5-2698 v4 @ 2.20GHz", "40", 4, 20, 80),
        ("Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", "112", 8, 28, 224),
        ("Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", "28", None, 28, None),
        ("Intel Skylake", "48", None, None, 96),
        ("Intel Skylake", "0", None, None, None),
    ],
)
def test_the_first_shape_counts_cores_of_a_node(
    cpu: str, filed: str, sockets: int | None, cores: int | None, total: int | None
) -> None:
    row = system_total(
        parse_dialect="v05_entry",
        host_cpu_reported=cpu,
        host_cpu_core_count_reported=filed,
        host_cpus_per_node_reported=None,
        host_memory_reported="512",
    )
    found = (row["socket_count"], row["cores_per_socket"], row["core_count"])
    assert found == (sockets, cores, total)
    assert row["memory_per_node_gib"] == 512


def test_declared_clusters() -> None:
    row = system_total(
        round_id="v0.5",
        submitter_folder="nvidia",
        system_folder="dgx1_multi_ngc18.11_mxnet",
        parse_dialect="v05_entry",
        node_count_reported="128",
    )
    assert (row["node_count"], row["accelerator_count"]) == (80, 640)
    assert "cluster" in row["explanation"]


def test_a_prefix_that_counts_accelerators() -> None:
    row = system_total(system_folder="128xBM.GPU.H100.8", node_count_reported="16")
    assert row["accelerator_count"] == 128
    assert "counts accelerators" in row["explanation"]


@pytest.mark.parametrize(
    ("chip", "per_node", "filed", "rank", "socketed"),
    [
        ("NVIDIA A100-PCIe-80GB", "8", "PCIe 4.0", 0, False),
        ("NVIDIA A100-PCIe-80GB", "8", "NVLINK BRIDGE", 1, False),
        ("NVIDIA L40S", "8", "NVLink", 0, False),
        ("NVIDIA H200-NVL-141GB", "8", "", 1, False),
        ("NVIDIA A100-SXM4-80GB", "4", "NVLink 600GB/s", 2, True),
        ("NVIDIA A100-SXM4-80GB", "8", "", 3, True),
        ("Tesla V100-SXM2-16GB", "8", None, 2, True),
        ("AMD Instinct MI300X", "8", "XGMI", 2, True),
        ("Mystery", "8", "NVLink", None, None),
    ],
)
def test_links(
    chip: str, per_node: str, filed: str | None, rank: int | None, socketed: bool | None
) -> None:
    row = system_total(
        accelerator_reported=chip,
        accelerators_per_node_reported=per_node,
        accelerator_interconnect_reported=filed,
    )
    assert (row["link_rank"], row["is_socketed"]) == (rank, socketed)


def test_memory_that_contradicts_the_model_is_explained_and_not_used() -> None:
    row = system_total(accelerator_memory_reported="40 GB")
    assert row["accelerator_memory_gib"] == 80 and "40 GB" in row["explanation"]
    assert system_total(accelerator_memory_reported="81559 MiB")["explanation"] is None


def test_host_memory_that_cannot_be_meant() -> None:
    assert system_total(host_memory_reported="1 GB")["memory_per_node_gib"] is None


def test_network_from_either_field() -> None:
    assert system_total(host_networking_reported="8x IB 400Gb/s")["network_gbps_per_node"] == 3200
    row = system_total(
        host_networking_reported="Ethernet", host_network_card_count_reported="1 X 100G"
    )
    assert row["network_gbps_per_node"] == 100


def test_a_field_filed_twice_makes_the_row_doubtful() -> None:
    issues = pl.DataFrame(
        {
            "round_id": ["v9.0"],
            "kind": ["system_duplicate_key"],
            "source_file": ["S/systems/x.json"],
        }
    )
    assert totals(frame({}), issues)["is_low_confidence"].to_list() == [True]


def test_an_unreadable_description_has_a_reason() -> None:
    columns = dict.fromkeys(reported_columns())
    row = system_total(**columns, parse_dialect="unreadable")
    assert row["accelerator_count"] is None
    assert "could not be read" in row["count_missing_reason"]


def test_no_systems_give_empty_tables_with_their_columns() -> None:
    tables = identity_tables(frame({}).clear())
    assert tables["identity.system_total"].schema == pl.Schema(SCHEMA)
    assert all(table.is_empty() for table in tables.values())
    assert set(tables) >= {"identity.accelerator", "identity.issue", "identity.network"}
