"""Rounds of a few small files, built by the project's own reader and SQL.

A round is a dictionary of paths and bytes; :func:`log`, :func:`system` and :meth:`Mini.result`
fill it the way submitters do. :func:`build` reads it into a warehouse in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from gpurank.logs.source_files import SourceFile, content_hash
from gpurank.method.settings import MethodSettings
from gpurank.store.versions import MANIFEST, Manifest
from tasks.build.identity import load_identity
from tasks.build.load import Version, load_raw
from tasks.build.lookups import load_lookups
from tasks.build.models import prepare_analysis, run_layer
from tasks.ingest.raw_tables import write_round
from tasks.method import benchmark as method

T0 = 1_650_000_000_000
DAY_MS = 86_400_000

Fields = dict[str, Any]
Record = tuple[int, str, Any, Fields]


def records(
    minutes: float,
    start_ms: int = T0,
    *,
    benchmark: str | None = "resnet",
    division: str | None = "closed",
    status: str | None = "success",
    quality: Any = 0.7595,
    counters: Fields | None = None,
    settings: Fields | None = None,
    stop: bool = True,
) -> list[Record]:
    """(time, key, value, metadata) of one plain run that lasts so many minutes."""
    stop_ms = start_ms + round(minutes * 60_000)
    found: list[Record] = [(start_ms - 9_000, "init_start", None, {})]
    if benchmark is not None:
        found.append((start_ms - 8_000, "submission_benchmark", benchmark, {}))
    if division is not None:
        found.append((start_ms - 8_000, "submission_division", division, {}))
    given = {"global_batch_size": 256} | (settings or {})
    found += [(start_ms - 7_000, key, value, {}) for key, value in given.items()]
    found.append((start_ms, "run_start", None, {}))
    if quality is not None:
        found.append((stop_ms - 50, "eval_accuracy", quality, counters or {"epoch_num": 36}))
    if stop:
        found.append((stop_ms, "run_stop", None, {} if status is None else {"status": status}))
    return found


def mllog(items: Iterable[Record], prefix: str = "", end: str = "\n") -> bytes:
    """Records in the form used since v0.7."""
    lines = []
    for time_ms, key, value, metadata in items:
        row = {
            "namespace": "", "time_ms": time_ms, "event_type": "POINT_IN_TIME", "key": key,
            "value": value, "metadata": {"file": "train.py", "lineno": 7, **metadata},
        }  # fmt: skip
        lines.append(f"{prefix}:::MLLOG {json.dumps(row)}{end}")
    return "".join(lines).encode()


def mll(items: Iterable[Record]) -> bytes:
    """Records in v0.6's form."""
    lines = [
        f":::MLL {time_ms / 1000:.3f} {key}: {json.dumps({'value': value, 'metadata': metadata})}\n"
        for time_ms, key, value, metadata in items
    ]
    return "".join(lines).encode()


def log(minutes: float, start_ms: int = T0, **options: Any) -> bytes:
    """A plain run's log; ``prefix`` and ``end`` as in :func:`mllog`, others as in records."""
    form = {name: options.pop(name) for name in ("prefix", "end") if name in options}
    return mllog(records(minutes, start_ms, **options), **form)


def system(**fields: Any) -> bytes:
    """A system description of one 8-GPU node unless the fields say otherwise; None removes one."""
    plain: Fields = {
        "submitter": "NVIDIA", "division": "closed", "status": "Available on-premise",
        "system_name": "mini", "number_of_nodes": "1", "host_processors_per_node": "2",
        "host_processor_model_name": "AMD EPYC 7742", "host_processor_core_count": "64",
        "host_memory_capacity": "1 TB", "host_networking": "8x 200Gb/s InfiniBand",
        "accelerators_per_node": "8", "accelerator_model_name": "NVIDIA A100-SXM4-80GB",
        "accelerator_memory_capacity": "80 GB", "accelerator_interconnect": "NVLink and NVSwitch",
        "framework": "PyTorch 2.1", "operating_system": "Ubuntu 22.04",
        "host_storage_type": "NVMe", "host_storage_capacity": "1 TB",
        "host_networking_topology": "fat tree", "other_software_stack": {},
    }  # fmt: skip
    merged = {key: value for key, value in (plain | fields).items() if value is not None}
    return json.dumps(merged).encode()


class Mini(dict[str, "bytes | SourceFile"]):
    """A round's files by path, a withheld one as SourceFile.

    Every log gets a start of its own, so that none is a copy.
    """

    def __init__(self, first_start_ms: int = T0) -> None:
        super().__init__()
        self._next_ms = first_start_ms

    def start(self) -> int:
        """The next run's start."""
        self._next_ms += DAY_MS
        return self._next_ms

    def result(
        self,
        folder: str,
        minutes: Sequence[float],
        described: Mapping[str, Any] | None = None,
        name: str = "result_{}.txt",
        dialect: Callable[..., bytes] = mllog,
        **options: Any,
    ) -> str:
        """Logs of one result in ``<submitter>/<system>/<benchmark>``; gives the folder's path.

        With ``described`` (even empty) the system's description too. Options as in log().
        """
        submitter, machine, benchmark = folder.split("/")
        path = f"{submitter}/results/{machine}/{benchmark}"
        options.setdefault("benchmark", benchmark)
        form = {key: options.pop(key) for key in ("prefix", "end") if key in options}
        for number, value in enumerate(minutes):
            items = records(value, self.start(), **options)
            self[f"{path}/{name.format(number)}"] = dialect(items, **form)
        if described is not None:
            fields = {"submitter": submitter} | dict(described)
            self[f"{submitter}/systems/{machine}.json"] = system(**fields)
        return path


def write(files: Mapping[str, bytes | SourceFile], round_id: str, folder: Path) -> Version:
    """Read a round's files into a version's folder."""
    folder.mkdir(parents=True)
    sources = [
        file if isinstance(file, SourceFile) else SourceFile(path, file)
        for path, file in sorted(files.items())
    ]
    write_round(sources, round_id, folder)
    content = content_hash((file.path, file.content_id) for file in sources)
    manifest = Manifest(
        round_id=round_id, version_id="mini", state="complete", form="full", source_kind="tree",
        source_uri="/mini", source_commit=None, fingerprint="mini", content_hash=content,
        code_hash="mini", taken_at="2030-01-01T00:00:00+00:00", file_count=len(sources),
        byte_count=sum(file.byte_count or 0 for file in sources),
    )  # fmt: skip
    (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return Version(round_id, "mini", folder)


class Warehouse:
    """A warehouse in memory, with short ways to look into it."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con

    def rows(self, sql: str, *arguments: Any) -> list[dict[str, Any]]:
        """The rows of a query."""
        found = self.con.execute(sql, list(arguments))
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def result(self, result_id: str) -> dict[str, Any]:
        """The one row of marts.result with this id."""
        (row,) = self.rows("select * from marts.result where result_id = ?", result_id)
        return row

    def score(self, result_id: str) -> float | None:
        """Its score, min."""
        found: float | None = self.result(result_id)["score_min"]
        return found

    def kinds(self, result_id: str) -> set[str]:
        """Kinds of the issues that touch a result."""
        sql = "select distinct kind from marts.issue where result_id = ?"
        return {row["kind"] for row in self.rows(sql, result_id)}

    def file_kinds(self, path: str) -> set[str]:
        """Kinds of the issues of one file."""
        sql = "select distinct kind from marts.issue where source_file = ?"
        return {row["kind"] for row in self.rows(sql, path)}

    def quarantine(self) -> dict[str, str]:
        """Reason by folder."""
        found = self.rows("select folder_id, reason from marts.quarantine")
        return {row["folder_id"]: row["reason"] for row in found}


def rank(warehouse: Warehouse) -> None:
    """Add clusters and ranks, of few draws, and make the marts again."""
    settings = MethodSettings(draws=20, cluster_starts=2, cluster_bootstraps=2, gap_references=2)
    method.run_method(warehouse.con, settings)
    run_layer(warehouse.con, "marts")


def build(folder: Path, rounds: Mapping[str, Mapping[str, bytes | SourceFile]]) -> Warehouse:
    """Every layer but the method's tables, from the rounds' files."""
    versions = [write(files, round_id, folder / round_id) for round_id, files in rounds.items()]
    con = duckdb.connect(config={"threads": 1})
    load_raw(con, versions)
    load_lookups(con)
    load_identity(con)
    for layer in ("staging", "core", "metrics"):
        run_layer(con, layer)
    prepare_analysis(con)
    run_layer(con, "marts")
    return Warehouse(con)
