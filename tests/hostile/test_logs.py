"""Logs that cost more than they say, and files that nearly count."""

from __future__ import annotations

import time
from typing import Any

import pytest
from cases.miniature import log

from gpurank.declared.rounds import declared_rounds
from gpurank.logs.records import RECORD_LIMIT, read_log
from gpurank.logs.round_tables import read_round
from gpurank.logs.runs import run_facts
from gpurank.logs.source_files import SourceFile

FOLDER = "Sub/results/box/resnet"


def read(files: dict[str, bytes]) -> dict[str, list[dict[str, Any]]]:
    """Rows by table of a round of these files."""
    rounds = declared_rounds()
    sources = [SourceFile(path, data) for path, data in sorted(files.items())]
    found: dict[str, list[dict[str, Any]]] = {}
    for table, batch in read_round(sources, rounds.get("v2.0"), rounds):
        found.setdefault(table, []).extend(batch.to_pylist())
    return found


@pytest.mark.parametrize("mark", [b":::MLLOG", b":::MLPv0.5.0 ", b"MLPerf: "])
def test_a_log_of_marks_alone_is_named_and_not_read(mark: bytes) -> None:
    path = f"{FOLDER}/result_0.txt"
    found = read({path: mark * (RECORD_LIMIT + 1), f"{FOLDER}/result_1.txt": log(30)})
    assert [row["path"] for row in found["run"]] == [f"{FOLDER}/result_1.txt"]
    (issue,) = [row for row in found["issue"] if row["source_file"] == path]
    assert (issue["level"], issue["kind"]) == ("error", "result_log_withheld")
    assert {row["path"]: row["kind"] for row in found["source_file"]}[path] == "withheld"


@pytest.mark.parametrize(
    "name", ["Scaling.json", "scaling.json.txt", "old_scaling.json", "scaling.json ", "SCALING"]
)
def test_a_factor_that_does_not_count_is_told(name: str) -> None:
    found = read(
        {f"{FOLDER}/result_0.txt": log(30), f"{FOLDER}/{name}": b'{"scaling_factor": 1.1}'}
    )
    assert found["scaling"] == [] if "scaling" in found else True
    assert "scaling_misnamed" in {row["kind"] for row in found["issue"]}


SLOW: dict[str, bytes] = {
    # A text that some pattern, read without care, would walk through again and again.
    "brackets": b':::MLLOG {"key": "a", "value": ' + b"[" * 200_000,
    "objects": b':::MLLOG {"key": "a", "value": ' + b'{"a":' * 100_000,
    "open_string": b':::MLLOG {"key": "' + b"x" * 400_000,
    "backslashes": b':::MLLOG {"key": "' + b"\\" * 400_001,
    "escapes": b":::MLLOG {" + b"\x1b[" * 200_000,
    "digits": b':::MLLOG {"key": "run_start", "time_ms": ' + b"9" * 400_000 + b"}",
    "decimals": b':::MLLOG {"key": "run_start", "time_ms": 0.' + b"0" * 400_000 + b"1}",
    "blanks": b":::MLL 1 a" + b" " * 400_000,
    "commas": b":::MLLOG {'a': [" + b"," * 400_000,
    "percents": b":::MLLOG {'a': " + b"1%" * 200_000,
    "markers_in_strings": b':::MLLOG {"key": "' + b":::MLLOG " * 20_000,
    "half_lines": b':::MLLOG {"key": "a", "value": 1\n' * 10_000,
    "wallclock": b"MLPerf: a [06/01/19 10:00:00], " + b"k" * 400_000,
    "addresses": b':::MLLOG {"key": "a", "value": "' + b"a.b@" * 100_000 + b'"}',
    "contacts": b':::MLLOG {"key": "a", "value": "' + b"poc_name: '" * 40_000 + b'"}',
    "v05": b":::MLPv0.5.0 a 1 (" + b"(" * 400_000,
    "same_keys": b":::MLLOG {" + b'"key": "run_start", ' * 20_000 + b'"time_ms": 1}',
}


@pytest.mark.parametrize("name", SLOW)
def test_no_text_takes_longer_than_its_length(name: str) -> None:
    data = log(30) + SLOW[name] + b"\n" + log(30)
    start = time.perf_counter()
    records = read_log(data)
    run_facts(records, declared_rounds().rule("v2.0", "resnet"))
    assert time.perf_counter() - start < 10
    assert "run_stop" in records.key


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ('{"status": "success", "status": "aborted"}', None),
        ('{"status": "aborted", "status": "success"}', None),
        ('{"status": "success", "x": 1, "status": "success"}', "success"),
        ('{"status": "aborted", "x": {"status": "success"}}', "aborted"),
    ],
)
def test_an_outcome_filed_twice_is_none(metadata: str, status: str | None) -> None:
    """Then the evaluation decides, which here misses the target."""
    text = log(30, quality=0.5).replace(b'"status": "success"}', metadata[1:].encode())
    facts = run_facts(read_log(text), declared_rounds().rule("v2.0", "resnet"))
    assert facts.status_reported == status
    assert facts.is_converged is (status == "success")
