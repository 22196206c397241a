"""Every system description of the published rounds: read, identified, counted."""

from __future__ import annotations

import csv
import re
import tarfile
from collections import Counter
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from gpurank.systems.descriptions import Description, read_description, reported_columns
from gpurank.systems.identity import identity_tables, resolve_one

pytestmark = pytest.mark.real

# descriptions by dialect, as the round reports count them
DIALECTS = {
    "v0.5": {"v05_entry": 30},
    "v0.6": {"v06_kv": 22, "json": 8, "v05_entry": 2},
    "v0.7": {"json": 73, "json_trailing_comma": 5},
    "v1.0": {"json": 103},
    "v2.0": {"json": 128},
    "v3.0": {"json": 91},
    "v4.0": {"json": 97},
    "v4.1": {"json": 86},
    "v5.0": {"json": 94},
}
_DESCRIPTION = re.compile(r"/systems/[^/]+\.json$|/entry\.json$")
# framework texts that name a container, a driver or a product but no framework
NAME_NO_FRAMEWORK = re.compile(r"NGC MLPerf|CUDA|ROCm|LLMBoost")


def _descriptions(archive: Path) -> dict[str, Description]:
    found = {}
    stream = pa.CompressedInputStream(pa.OSFile(str(archive)), "zstd")
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for entry in tar:
            path = entry.name.partition("/")[2]
            if entry.isfile() and _DESCRIPTION.search(entry.name):
                file = tar.extractfile(entry)
                assert file is not None
                found[path] = read_description(file.read(), path)
    return found


def _row(round_id: str, path: str, description: Description) -> dict[str, str | None]:
    parts = path.split("/")
    is_first = parts[0].startswith("v0.5")
    return {
        "round_id": round_id,
        "path": path,
        "submitter_folder": parts[1] if is_first else parts[0],
        "system_folder": parts[-2] if parts[-1] == "entry.json" else parts[-1][:-5],
        "parse_dialect": description.parse_dialect,
        "fields_json": description.fields_json,
        **description.reported,
    }


@pytest.fixture(scope="module")
def systems(shared: Path) -> pl.DataFrame:
    """raw.system of the published rounds, made from the archives."""
    records = [
        _row(round_id, path, description)
        for round_id in DIALECTS
        for path, description in _descriptions(
            shared / "rounds" / f"training_results_{round_id}.tar.zst"
        ).items()
    ]
    return pl.DataFrame(records, schema=dict.fromkeys(records[0], pl.String))


@pytest.fixture(scope="module")
def tables(systems: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return identity_tables(systems)


@pytest.fixture(scope="module")
def counted(systems: pl.DataFrame, tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    return systems.join(tables["identity.system_total"], on=["round_id", "path"], validate="1:1")


def test_every_description_is_read_in_its_dialect(systems: pl.DataFrame) -> None:
    for round_id, expected in DIALECTS.items():
        found = Counter(systems.filter(round_id=round_id)["parse_dialect"].to_list())
        assert found == expected, round_id
    assert set(reported_columns()) <= set(systems.columns)


def test_no_address_and_no_contact_person_is_kept(systems: pl.DataFrame) -> None:
    text = "\n".join(systems["fields_json"].drop_nulls().to_list())
    assert not re.search(r"[\w.+-]+@[\w-]+\.[a-z]{2,}", text, re.I)
    assert "poc_" not in text


@pytest.mark.parametrize("kind", ["accelerator", "cpu", "submitter", "status", "division"])
def test_every_spelling_resolves(tables: dict[str, pl.DataFrame], kind: str) -> None:
    table = tables[f"identity.{kind}"]
    assert table.filter(pl.col("method") == "unresolved")["reported"].to_list() == []


def test_frameworks_resolve_unless_none_is_named(tables: dict[str, pl.DataFrame]) -> None:
    left = tables["identity.framework"].filter(pl.col("method") == "unresolved")["reported"]
    assert [text for text in left if not NAME_NO_FRAMEWORK.search(text)] == []


def test_accelerators_agree_with_the_reference_table(shared: Path) -> None:
    text = (shared / "reference" / "accelerators.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        values = resolve_one("accelerator", row["raw_string"], row["rounds"].split()[0]).values
        if row["canonical"].startswith("none"):
            assert values == {}
            continue
        assert values["accelerator"] == row["canonical"], row["raw_string"]
        assert str(values["launch_year"]) == row["launch_year"], row["raw_string"]
        for ours, theirs in (
            ("memory_gb", "memory_gb"),
            ("peak_dense_bf16_tflops", "peak_dense_bf16_fp16_tflops"),
            ("memory_bandwidth_gb_s", "memory_bandwidth_gb_s"),
            ("tdp_w", "tdp_w"),
        ):
            if row[theirs]:
                assert values[ours] == float(row[theirs]), (row["raw_string"], ours)


def test_processors_agree_with_the_reference_table(shared: Path) -> None:
    text = (shared / "reference" / "cpus.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        values = resolve_one("cpu", row["raw_string"]).values
        assert (values.get("cpu") or "") == row["canonical"], row["raw_string"]
        if row["cores_per_socket"]:
            assert values["cores_per_socket"] == int(row["cores_per_socket"])


def test_every_system_has_a_count(counted: pl.DataFrame) -> None:
    assert counted["count_missing_reason"].null_count() == counted.height


def test_totals_are_the_product_but_for_the_listed_exceptions(counted: pl.DataFrame) -> None:
    filed = [
        pl.col(name).cast(pl.Float64)
        for name in ("node_count_reported", "accelerators_per_node_reported")
    ]
    other = counted.filter(filed[0] * filed[1] != pl.col("accelerator_count"))
    assert other["round_id"].unique().to_list() == ["v0.5"]
    chips = dict(other.select("accelerator_reported", "accelerator_count").iter_rows())
    slices = {name: chips[name] for name in chips if name.startswith("tpu")}
    assert slices == {
        "tpuv2-8": 4,
        "tpuv3-8": 4,
        "tpuv3-32": 16,
        "tpuv2-512": 256,
        "tpuv3-512": 256,
    }
    clusters = other.filter(pl.col("system_folder").str.contains("multi"))
    assert dict(clusters.select("system_folder", "accelerator_count").iter_rows()) == {
        "dgx1_multi_ngc18.11_mxnet": 80 * 8,
        "dgx2h_multi_ngc18.11_mxnet": 32 * 16,
        "dgx1_multi_ngc18.11_pytorch": 8 * 8,
        "dgx2h_multi_ngc18.11_pytorch": 8 * 16,
    }


@pytest.mark.parametrize(
    ("round_id", "system", "nodes", "accelerators"),
    [
        ("v0.6", "tpu-v3-1024", 1, 512),
        ("v0.6", "sinian", 16, 64),
        ("v0.6", "abci_2048xV100_mxnet", 512, 2048),
        ("v0.6", "dgx2h_n96_ngc19.05_mxnet", 96, 1536),
        ("v0.7", "n160_pai_eflops", 160, 1280),
        ("v1.0", "tpu-v4-4096-TF", 512, 2048),
        ("v2.0", "ipu-pod128-POPART-closed", 2, 128),
        ("v2.0", "8xA100_80GB-baseline", 1, 8),
        ("v4.1", "128xBM.GPU.H100.8", 16, 128),
        ("v5.0", "tyche_ngpu72_ngc25.04_nemo", 18, 72),
    ],
)
def test_known_systems(
    counted: pl.DataFrame, round_id: str, system: str, nodes: int, accelerators: int
) -> None:
    row = counted.filter(round_id=round_id, system_folder=system).row(0, named=True)
    assert (row["node_count"], row["accelerator_count"]) == (nodes, accelerators)


def test_tpu_names_count_cores_and_our_totals_chips(counted: pl.DataFrame) -> None:
    number = pl.col("system_folder").str.extract(r"tpu-v(?:3|4|5p)-(\d+)", 1).cast(pl.Int64)
    named = counted.filter(number.is_not_null()).with_columns(number=number)
    assert named.height >= 30
    assert named.filter(pl.col("number") != 2 * pl.col("accelerator_count")).is_empty()


def test_systems_without_accelerators_count_sockets(counted: pl.DataFrame) -> None:
    none = counted.filter(pl.col("accelerator_count") == 0)
    assert none.height == 30
    assert none["socket_count"].null_count() == 0


def test_mixed_hosts(counted: pl.DataFrame) -> None:
    row = counted.filter(pl.col("host_cpu_reported").str.starts_with("Node1")).row(0, named=True)
    assert (row["core_count"], row["cores_per_socket"]) == (2 * 128 + 2 * 64, None)
    assert row["is_low_confidence"]
