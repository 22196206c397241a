"""What is fuzzed: functions of bytes that fail on a crash or on a broken promise, never on junk."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path

from gpurank.declared.contracts import contract
from gpurank.declared.rounds import Rounds, declared_rounds
from gpurank.logs.convergence_scaling import read_scaling
from gpurank.logs.event_columns import EventBatch
from gpurank.logs.layout import classify
from gpurank.logs.power import power_facts
from gpurank.logs.records import read_log
from gpurank.logs.runs import run_facts
from gpurank.systems.accelerators import identify_accelerator
from gpurank.systems.cpus import identify_cpu
from gpurank.systems.descriptions import read_description
from gpurank.systems.quantities import count, memory_gib, network_gbps
from tasks.sources.snapshot import SourceError, files, pin

_ROUNDS = ("v0.5", "v0.6", "v2.0", "v5.0")


@cache
def _rounds() -> Rounds:
    return declared_rounds()


def reader(data: bytes) -> None:
    """Records, run facts, Arrow rows: columns of one length, valid text, finite times."""
    records = read_log(data)
    columns = [item.name for item in fields(records) if not item.name.startswith("_")]
    lengths = {len(getattr(records, name)) for name in columns}
    assert lengths == {len(records)}
    events = EventBatch()
    events.add("p", records)
    batch = events.batch()
    assert (batch.num_rows if batch else 0) == len(records)
    if batch is not None:
        batch.validate(full=True)
    lines = 1 + data.count(b"\n")
    assert all(1 <= number <= lines for number in records.line_number)
    for benchmark in ("resnet", "maskrcnn"):
        facts = run_facts(records, _rounds().rule("v2.0", benchmark))
        assert facts.duration_ms is None or 0 < facts.duration_ms < float("inf")
        assert not (facts.is_converged and facts.duration_ms is None)
    power_facts(data, records, "node_0.txt")


def system(data: bytes) -> None:
    """A description: JSON where it says so, UTF-8 in every field, a reason where it is unread."""
    found = read_description(data, "Sub/systems/x.json")
    if found.fields_json is None:
        assert found.issues
    else:
        json.loads(found.fields_json)
    columns = {column.name for column in contract("raw.system").columns}
    assert set(found.reported) <= columns
    for text in found.reported.values():
        if isinstance(text, str):
            text.encode("utf-8")
    factor, problem = read_scaling(data)
    assert factor is None or 1 <= factor <= 2
    assert factor is not None or problem is not None


def archive(data: bytes) -> None:
    """An archive: its files, or a SourceError; nothing is written beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training_results_v4.0.tar"
        path.write_bytes(data)
        try:
            paths = [file.path for file in files(pin("v4.0", path), Path(folder))]
        except SourceError:
            paths = []
        assert paths == sorted(set(paths))
        assert not any(".." in item.split("/") or item.startswith("/") for item in paths)
        assert [item.name for item in Path(folder).iterdir()] == [path.name]


def lookups(data: bytes) -> None:
    """Spellings and quantities: no value without a method, none beyond reason."""
    text = data.decode("utf-8", "replace")
    for round_id in (None, *_ROUNDS):
        found = identify_accelerator(text, round_id)
        assert found.method in ("lookup", "rule", "unresolved", "blank")
    assert identify_cpu(text).method in ("lookup", "rule", "unresolved", "blank")
    for number in (count(text), memory_gib(text), memory_gib(text, "GB"), network_gbps(text)):
        assert number is None or 0 <= number < 1e12
    if "\0" not in text:
        classify(text, _rounds().get("v4.0"))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reader": reader,
    "system": system,
    "archive": archive,
    "lookups": lookups,
}
