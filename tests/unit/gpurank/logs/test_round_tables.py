"""A round's files into raw tables: cases as small inputs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic_logs import log, record, run

from gpurank.declared.contracts import contract
from gpurank.declared.rounds import declared_rounds
from gpurank.logs.round_tables import TABLES, code_hash, read_round
from gpurank.logs.source_files import SourceFile, withheld_as_missing
from tasks.ingest.raw_tables import write_round
from tasks.ingest.shipped import referenced_events

Tables = dict[str, list[dict[str, Any]]]
SYSTEM = json.dumps({"submitter": "Acme", "system_name": "box", "number_of_nodes": 1}).encode()


def tables(files: Mapping[str, bytes], round_id: str = "v4.0") -> Tables:
    """The raw tables as lists of rows."""
    rounds = declared_rounds()
    sources = [SourceFile(path, data) for path, data in sorted(files.items())]
    found: dict[str, list[pa.RecordBatch]] = {name: [] for name in TABLES}
    for name, batch in read_round(sources, rounds.get(round_id), rounds):
        assert batch.schema == contract(f"raw.{name}").arrow_schema()
        found[name].append(batch)
    return {name: [row for batch in found[name] for row in batch.to_pylist()] for name in TABLES}


def result(
    minutes: list[float], folder: str = "Acme/results/box/bert", **how: Any
) -> dict[str, bytes]:
    """A result folder with one log a run, and its system description."""
    submitter, _, below = folder.partition("/results/")
    files = {
        f"{folder}/result_{n}.txt": log(run(m, benchmark=folder.rpartition("/")[2], **how))
        for n, m in enumerate(minutes)
    }
    return files | {f"{submitter}/systems/{below.split('/')[0]}.json": SYSTEM}


def kinds(found: Tables) -> set[str]:
    return {row["kind"] for row in found["issue"]}


def test_a_plain_result() -> None:
    found = tables(result([10] * 10))
    (folder,) = found["folder"]
    assert folder["folder_id"] == "Acme/results/box/bert"
    assert (folder["result_log_count"], folder["file_count"]) == (10, 10)
    assert folder["system_path"] == "Acme/systems/box.json"
    assert folder["quarantine_reason"] is None
    assert {row["duration_ms"] for row in found["run"]} == {600_000}
    assert [row["path"] for row in found["system"]] == ["Acme/systems/box.json"]
    assert len(found["event"]) == 80
    assert sum(row["record_count"] for row in found["source_file"]) == 80


def test_strays_are_kept_with_their_reason_and_count_as_no_run() -> None:
    odd = {
        "Acme/systems/.box.json.swp": b"b0VIM\xb8\x00",
        "Acme/systems/README.md": b"text",
        "Acme/results/box/bert/.!65506!result_4.txt": log(run(1)[:-1]),
        "Acme/results/box/bert/notes": b"",
        "Acme/results/README.md": b"text",
    }
    found = tables(result([10] * 10) | odd)
    assert len(found["run"]) == 10
    assert len(found["system"]) == 1
    by_path = {row["path"]: row for row in found["source_file"]}
    assert {by_path[path]["kind"] for path in odd} == {"stray", "extra_log"}
    assert all(by_path[path]["ignored_reason"] for path in odd)
    assert by_path["Acme/results/box/bert/.!65506!result_4.txt"]["kind"] == "extra_log"


def test_no_system_description_and_no_benchmark_folder() -> None:
    files = {f"Acme/results/box/result_{n}.txt": log(run(10)) for n in range(5)}
    found = tables(files, "v0.7")
    (folder,) = found["folder"]
    assert (folder["benchmark_folder"], folder["benchmark_folder_source"]) == ("resnet", "log")
    assert folder["system_path"] is None
    assert "system_description_missing" in kinds(found)
    assert all(row["is_converged"] for row in found["run"])


def test_logs_without_a_benchmark_folder_that_name_none_or_several() -> None:
    nameless = [line for line in run(10) if "submission_benchmark" not in line]
    found = tables({"Acme/results/box/result_0.txt": log(nameless)})
    assert found["folder"][0]["quarantine_reason"]
    both = {
        "Acme/results/box/result_0.txt": log(run(10)),
        "Acme/results/box/result_1.txt": log(run(10, benchmark="bert")),
    }
    assert tables(both)["folder"][0]["quarantine_reason"]
    beside = {"Acme/results/box/result_0.txt": log(run(10))} | result(
        [9], "Acme/results/box/resnet"
    )
    reasons = [row["quarantine_reason"] for row in tables(beside)["folder"]]
    assert [reason is None for reason in reasons] == [False, True]


def test_the_oldest_round_has_packages_and_entries() -> None:
    line = ":::MLPv0.5.0 ssd {} (train.py:1) {}"
    text = "\n".join(
        [
            line.format(1541670000, "run_start"),
            line.format(1541670600, 'run_stop: {"success": true}'),
        ]
    )
    base = "v0.5.0/acme/slice.8/ssd-slice-8/results/tpu"
    found = tables(
        {f"{base}/ssd/result_1.txt": text.encode(), f"{base}/entry.json": SYSTEM}, "v0.5"
    )
    (folder,), (facts,) = found["folder"], found["run"]
    assert (folder["submitter_folder"], folder["system_folder"]) == ("acme", "slice.8")
    assert (folder["package_folder"], folder["system_path"]) == (
        "slice.8/ssd-slice-8",
        f"{base}/entry.json",
    )
    assert (facts["duration_ms"], facts["convergence_basis"]) == (600_000, "value")
    assert facts["benchmark_reported"] == "ssd"


def test_a_copy_nested_below_a_result_is_quarantined() -> None:
    nested = {f"Acme/results/box/resnet/bert/result_{n}.txt": log(run(1)) for n in range(3)}
    found = tables(result([10] * 5, "Acme/results/box/resnet") | nested)
    reasons = {row["folder_id"]: row["quarantine_reason"] for row in found["folder"]}
    assert reasons["Acme/results/box/resnet"] is None
    assert "nested" in reasons["Acme/results/box/resnet/bert"]
    assert len(found["run"]) == 5
    assert found["folder"][0]["file_count"] == 8


def test_folders_without_logs_are_results_unless_they_are_no_benchmark() -> None:
    found = tables(
        {
            "Acme/results/box/bert/.gitkeep": b"",
            "Acme/results/box/scripts/a.log": b"text",
            "Acme/results/box/rnnt2/result_0.txt": log(run(10, benchmark="rnnt2")),
        }
    )
    reasons = {row["benchmark_folder"]: row["quarantine_reason"] for row in found["folder"]}
    assert reasons["bert"] is None
    assert reasons["scripts"]
    assert reasons["rnnt2"] is None
    assert {"no_result_logs", "unknown_benchmark", "folder_quarantined"} <= kinds(found)


def test_misnamed_logs_are_kept_and_are_no_runs() -> None:
    found = tables(
        {f"Acme/results/box/resnet/1594_{n}.log": log(run(10)) for n in range(5)}, "v0.7"
    )
    assert not found["run"]
    assert len(found["event"]) == 40
    assert "misnamed_result_logs" in kinds(found)


def test_the_same_folder_name_is_another_benchmark_in_another_round() -> None:
    rounds = declared_rounds()
    assert rounds.rule("v1.0", "ssd").benchmark != rounds.rule("v2.0", "ssd").benchmark
    found = tables(result([10] * 5, "Acme/results/box/ssd"), "v2.0")
    assert "benchmark_folder_vs_log" not in kinds(found)
    assert {row["quality"] for row in found["run"]} == {0.76}


def test_a_benchmark_that_the_log_calls_otherwise_is_flagged() -> None:
    files = result([10] * 10)
    files["Acme/results/box/bert/result_3.txt"] = log(run(10, benchmark="resnet"))
    (issue,) = [row for row in tables(files)["issue"] if row["kind"] == "benchmark_folder_vs_log"]
    assert issue["source_file"] == "Acme/results/box/bert/result_3.txt"


def test_copies_share_a_fingerprint_within_and_across_rounds() -> None:
    one = tables(result([10, 11]) | result([10, 11], "Acme/results/box-copy/bert"))
    assert len({row["fingerprint"] for row in one["run"]}) == 2
    other = tables(result([10, 11], "Else/results/box/rgat"), "v5.0")
    assert {row["fingerprint"] for row in other["run"]} == {
        row["fingerprint"] for row in one["run"]
    }


@pytest.mark.parametrize(
    ("text", "factor", "kind"),
    [
        (b'{"scaling_factor": 1.1}', 1.1, None),
        (b'\xef\xbb\xbf{"scaling_factor": "1.1"}', 1.1, None),
        (b'{"scaling_factor": 1.92}', 1.92, "scaling_unusual"),
        (b'{"scaling_factor": 12}', None, "scaling_implausible"),
        (b'{"scaling_factor": 0.9}', None, "scaling_implausible"),
        (b'{"scaling_factor": true}', None, "scaling_unreadable"),
        (b'{"scaling_factor": 1.1, "scaling_factor": 1.2}', None, "scaling_unreadable"),
        (b'{"scaling_factor": NaN}', None, "scaling_unreadable"),
        (b'{"scaling_factor": 0}', None, "scaling_unreadable"),
        (b"[1.1]", None, "scaling_unreadable"),
        (b"\xff", None, "scaling_unreadable"),
        (b"[" * 100_000, None, "scaling_unreadable"),
    ],
    ids=range(12),
)
def test_scaling_factors(text: bytes, factor: float | None, kind: str | None) -> None:
    found = tables(result([10] * 10) | {"Acme/results/box/bert/scaling.json": text})
    assert [row["scaling_factor"] for row in found["scaling"]] == [factor]
    assert (kind in kinds(found)) == (kind is not None)


def test_checker_params_are_kept_on_one_line_without_contacts() -> None:
    params = {"Acme/results/box/bert/package_checker_params": b"rcp-bypass\r\nask a.b@example.org"}
    found = tables(result([10] * 10) | result([10] * 10, "Acme/results/box/rgat") | params)
    assert {row["benchmark_folder"]: row["checker_params"] for row in found["folder"]} == {
        "bert": "rcp-bypass ask",
        "rgat": None,
    }
    (file,) = [row for row in found["source_file"] if row["path"] in params]
    assert (file["kind"], file["ignored_reason"]) == ("checker_params", None)


def test_files_that_were_withheld_are_named() -> None:
    rounds = declared_rounds()
    path = "Acme/results/box/bert/result_0.txt"
    source = SourceFile(path, b"", "larger than 128 MiB", 1 << 30, "0" * 64)
    batches = dict(read_round([source], rounds.get("v4.0"), rounds))
    (row,) = batches["source_file"].to_pylist()
    assert (row["kind"], row["byte_count"], row["sha256"]) == ("withheld", 1 << 30, "0" * 64)
    assert batches["run"].num_rows == 0
    assert "result_log_withheld" in batches["issue"]["kind"].to_pylist()


def test_a_folder_whose_logs_are_missing_is_seen_with_them() -> None:
    """Of five logs two are missing from the copy, and of another folder all."""
    found = result([10] * 5, "Acme/results/box/resnet")
    identifier = "ab" * 20
    lost = [f"Acme/results/box/resnet/result_{n}.txt" for n in (3, 4)]
    lost += [f"Acme/results/box/bert/result_{n}.txt" for n in range(10)]
    sources = {path: SourceFile(path, data) for path, data in found.items()}
    sources |= {path: withheld_as_missing(path, identifier) for path in lost}
    rounds = declared_rounds()
    ordered = [sources[path] for path in sorted(sources)]
    batches = dict(read_round(ordered, rounds.get("v4.0"), rounds))
    folders = {row["benchmark_folder"]: row for row in batches["folder"].to_pylist()}
    counts = {
        name: (row["result_log_count"], row["withheld_log_count"], row["quarantine_reason"])
        for name, row in folders.items()
    }
    assert counts == {"resnet": (3, 2, None), "bert": (0, 10, None)}
    rows = {row["path"]: row for row in batches["source_file"].to_pylist()}
    for path in lost:
        row = rows[path]
        assert (row["kind"], row["byte_count"], row["sha256"]) == ("withheld", None, None)
        assert row["git_blob"] == identifier and identifier in row["ignored_reason"]
    issues = Counter(row["kind"] for row in batches["issue"].to_pylist())
    assert issues["result_log_withheld"] == 12
    assert not issues.keys() & {"too_few_runs", "no_result_logs"}


def test_undecodable_records_are_counted_and_kept() -> None:
    files = result([10] * 10)
    path = "Acme/results/box/bert/result_1.txt"
    files[path] = b":::MLLOG {broken\n" + files[path]
    found = tables(files)
    (issue,) = [row for row in found["issue"] if row["kind"] == "undecodable_records"]
    assert (issue["source_file"], issue["line_number"]) == (path, 1)
    (event,) = [row for row in found["event"] if not row["is_decodable"]]
    assert (event["key"], event["value"]) == (None, "{broken")


def test_power_logs() -> None:
    power = [
        record("power_measurement_start", 0, "null"),
        record("power_reading", 2_000, 100),
        record("power_measurement_stop", 2_000, "null"),
    ]
    files = {f"Acme/results/box/bert/power/result_{n}/node_0.txt": log(power) for n in range(2)}
    files["Acme/results/box/bert/power/result_0/total_power.txt"] = b"Total Power Usage: 1.5 kWh"
    found = tables(result([10] * 10) | files)
    rows = {(row["run_stem"], row["device_kind"]): row["energy_j"] for row in found["power"]}
    assert rows == {
        ("result_0", "node"): 200.0,
        ("result_1", "node"): 200.0,
        ("result_0", "total"): 5_400_000.0,
    }
    assert len(found["folder"]) == 1


def test_an_undeclared_round_and_an_empty_one() -> None:
    found = tables(result([10] * 10), "v9.0")
    assert found["run"][0]["is_converged"]
    empty = tables({}, "v9.0")
    assert all(not rows for rows in empty.values())


def test_written_tables_are_deterministic_and_counted(tmp_path: Path) -> None:
    files = [SourceFile(path, data) for path, data in sorted(result([10, 11, 12] * 4).items())]
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        write_round(files, "v4.0", folder)
    counts = {name: pq.read_metadata(first / f"{name}.parquet").num_rows for name in TABLES}
    assert (counts["source_file"], counts["event"], counts["folder"]) == (13, 96, 1)
    byte_counts = pq.read_table(first / "source_file.parquet")["byte_count"].to_pylist()
    assert byte_counts == [len(file.data) for file in files]
    kinds = pq.read_table(first / "issue.parquet")["kind"].to_pylist()
    assert kinds.count("more_runs_than_needed") == 1
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(f"{name}.parquet" for name in TABLES)
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_shipped_events_hold_every_line_that_facts_point_at(tmp_path: Path) -> None:
    files = [SourceFile(path, data) for path, data in sorted(result([10, 11, 12]).items())]
    write_round(files, "v4.0", tmp_path)
    kept = referenced_events(tmp_path)
    assert kept.schema == contract("raw.event").arrow_schema()
    assert kept.num_rows == 3 * 3
    lines = set(zip(kept["path"].to_pylist(), kept["line_number"].to_pylist(), strict=True))
    for row in pq.read_table(tmp_path / "run.parquet").to_pylist():
        for name in ("start_line", "stop_line", "quality_line"):
            assert (row["path"], row[name]) in lines


def test_the_code_hash_is_a_round_s_own() -> None:
    assert code_hash("v4.0") == code_hash("v4.0")
    assert code_hash("v4.0") != code_hash("v5.0")
    assert len(code_hash("v6.0")) == 64
