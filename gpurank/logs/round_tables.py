"""Turns a round's files into the raw tables of expectations/raw.

Every file becomes a row of source_file, every folder at benchmark level a row of folder, every
result log a row of run; whatever is odd becomes a row of issue. The counts are compared at the end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from importlib.resources import files as resource_files
from typing import Any, TypeAlias

import pyarrow as pa

from gpurank.declared.code_hash import hash_of_code
from gpurank.declared.contracts import contract
from gpurank.declared.rounds import BenchmarkRule, Round, Rounds, declared_rounds
from gpurank.errors import Exit, GpurankError
from gpurank.logs.convergence_scaling import Scaling
from gpurank.logs.folders import Folders
from gpurank.logs.issues import Issues
from gpurank.logs.layout import Place, run_number
from gpurank.logs.power import PowerFacts, device_kind
from gpurank.logs.read_files import Chunk, Reading, cut_into_chunks, read_files
from gpurank.logs.runs import RunFacts
from gpurank.logs.source_files import SourceFile
from gpurank.systems.descriptions import Description

TABLES = ("source_file", "folder", "event", "run", "system", "scaling", "power", "issue")

# What shapes the raw tables besides the modules of this package. A change in the meaning of one
# of these makes a new version of every round.
_SHAPING = (
    "declared/rounds.py",
    "declared/unsafe_text.py",
    "systems/descriptions.py",
    "systems/description_text.py",
)
_RUN_COLUMNS = tuple(
    column.name
    for column in contract("raw.run").columns
    if column.name not in ("path", "folder_id", "run_number")
)
_SHAPING_LOOKUPS = ("system_field.csv",)


ChunkReading: TypeAlias = tuple[list[Reading], pa.RecordBatch | None]
#: Reads chunks of files in order: Python's ``map``, or one that does so in several processes.
MapChunks: TypeAlias = Callable[
    [Callable[[Chunk], ChunkReading], Iterable[Chunk]], Iterator[ChunkReading]
]


class ReconciliationError(GpurankError, RuntimeError):
    """The counts of what was seen and what was written differ: an error of the reader."""

    exit_code = Exit.VALIDATION


def read_round(
    files: Iterable[SourceFile], round_: Round, rounds: Rounds, map_chunks: MapChunks = map
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The raw tables of a round.

    Args:
        files: the round's files, each once, in path order.
        round_: the round's declaration.
        rounds: all declarations, for the scoring rules.
        map_chunks: reads chunks of the files, here or in other processes, and keeps their order.

    Yields:
        (table, batch): batches of ``event`` as files come, every other table once at the end.
        Tables are named as in expectations/raw, without the ``raw.``.

    Raises:
        ReconciliationError: folders or logs seen are not the rows written.
    """
    reader = _RoundReader(round_, rounds)
    read_chunk = partial(read_files, round_=round_, rounds=rounds)
    for readings, batch in map_chunks(read_chunk, cut_into_chunks(files)):
        for reading in readings:
            reader.add(reading)
        if batch is not None:
            yield "event", batch
    for table, rows in reader.finish().items():
        yield table, _batch(table, rows)


def code_hash(round_id: str) -> str:
    """Returns the SHA-256 over what shapes a round's raw tables, hexadecimal.

    It covers the meaning of the reading modules (not their wording), the raw contracts, and the
    round's own declaration with its rules. Another round's declaration does not change it.
    """
    package = resource_files("gpurank")
    here = [f"logs/{f.name}" for f in package.joinpath("logs").iterdir() if f.name.endswith(".py")]
    names = sorted((*_SHAPING, *here))
    code = hash_of_code((name, package.joinpath(name)) for name in names)
    digest = hashlib.sha256(code.encode())
    for table in TABLES:
        digest.update(str(contract(f"raw.{table}").arrow_schema()).encode())
    for name in _SHAPING_LOOKUPS:
        digest.update(resource_files("warehouse").joinpath("lookups", name).read_bytes())
    rounds = declared_rounds()
    round_ = rounds.get(round_id)
    folders = sorted(rounds.document["benchmarks"]) + sorted(
        {alias["folder"] for alias in rounds.document["folder_aliases"]}
    )
    declaration = [asdict(round_), [asdict(rounds.rule(round_id, name)) for name in folders]]
    digest.update(json.dumps(declaration, sort_keys=True, default=str).encode())
    return digest.hexdigest()


class _RoundReader:
    """Collects a round's rows file by file."""

    def __init__(self, round_: Round, rounds: Rounds) -> None:
        self.round = round_
        self.rounds = rounds
        self.issues = Issues()
        self.folders = Folders(round_, rounds, self.issues)
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in TABLES if name not in ("event", "folder", "issue")
        }

    def add(self, reading: Reading) -> None:
        """Adds the rows of one file that was read."""
        place = reading.place
        self.folders.add_file(place, is_read=reading.refusal is None)
        ignored: str | None
        if reading.refusal is not None:
            kind, ignored = "withheld", reading.refusal
            self._add_withheld(reading.path, place, reading.refusal)
        else:
            self._note_undecodable(reading.path, reading)
            kind, ignored = self._add_content(reading.path, reading)
        self.rows["source_file"].append(
            {
                "path": reading.path,
                "kind": kind,
                "folder_id": place.folder_id,
                "byte_count": reading.byte_count,
                "sha256": reading.sha256,
                "git_blob": reading.git_blob,
                "record_count": reading.record_count,
                "ignored_reason": ignored,
            }
        )

    def _add_withheld(self, path: str, place: Place, reason: str) -> None:
        """Adds a file that was not read; nothing is guessed about what it would have changed."""
        if place.kind in ("result_log", "system_description", "scaling", "power"):
            message = f"the file was not read: {reason}"
            self.issues.add(
                "error", f"{place.kind}_withheld", message, path, folder_id=place.folder_id
            )
        row: dict[str, Any] = {"path": path, "folder_id": place.folder_id}
        if place.kind == "scaling":
            self.rows["scaling"].append({**row, "scaling_factor": None})
        elif place.kind == "power":
            nothing = PowerFacts(device_kind(path), None, None, None, None, 0)
            self.rows["power"].append({**row, "run_stem": place.run_stem, **asdict(nothing)})

    def _note_undecodable(self, path: str, reading: Reading) -> None:
        count = reading.undecodable_count
        if count:
            self.issues.add(
                "warning",
                "undecodable_records",
                f"{count} of {reading.record_count} records cannot be decoded and stay text",
                path,
                reading.undecodable_line,
                reading.place.folder_id,
            )

    def _add_content(self, path: str, reading: Reading) -> tuple[str, str | None]:
        """Adds a file that was read; returns its kind and why it adds no row, if it adds none."""
        place = reading.place
        if reading.run is not None and reading.rule is not None:
            self._add_run(path, place, reading.run, reading.rule)
        elif reading.description is not None:
            self._add_system(path, place, reading.description)
        elif reading.scaling is not None:
            self._add_scaling(path, place, reading.scaling)
        elif place.kind == "power":
            return self._add_power(path, place, reading.power)
        elif place.kind == "checker_params":
            self.folders.add_checker_params(place, reading.checker_params)
        elif place.kind == "marker":
            return "marker", "an empty file that marks a folder"
        elif place.kind == "submission":
            return "submission", "only names the submission's contact persons"
        else:
            return self._add_extra_file(path, reading)
        return place.kind, None

    def _add_extra_file(self, path: str, reading: Reading) -> tuple[str, str]:
        """Adds a file without a row of its own, with an issue where it looks like a log."""
        place = reading.place
        if "scaling" in path.rpartition("/")[2].lower():
            message = "only a scaling.json beside the logs scales a result; this one is not applied"
            self.issues.add("warning", "scaling_misnamed", message, path, folder_id=place.folder_id)
        if not reading.record_count:
            return "stray", "neither a log nor a description"
        if place.folder_id is None and reading.has_run_start:
            message = "this log of a run is in no result folder, so it does not count"
            self.issues.add("warning", "log_outside_results", message, path)
        self.folders.add_extra_log(place, has_run_start=reading.has_run_start)
        return "extra_log", "not named and placed as a result log (result_*.txt)"

    def _add_run(self, path: str, place: Place, facts: RunFacts, rule: BenchmarkRule) -> None:
        self.folders.add_result_log(place, facts.benchmark_reported)
        self.issues.add_run(path, place, facts, rule, self.rounds, self.round.round_id)
        row = {name: getattr(facts, name) for name in _RUN_COLUMNS}
        self.rows["run"].append(
            {
                "path": path,
                "folder_id": place.folder_id,
                "run_number": run_number(path),
                **row,
            }
        )

    def _add_system(self, path: str, place: Place, description: Description) -> None:
        self.folders.add_system(path)
        for issue in description.issues:
            self.issues.add(issue.level, issue.kind, issue.message, path, issue.line_number)
        self.rows["system"].append(
            {
                "path": path,
                "submitter_folder": place.submitter_folder,
                "package_folder": place.package_folder,
                "system_folder": place.system_folder,
                "parse_dialect": description.parse_dialect,
                **description.reported,
                "fields_json": description.fields_json,
            }
        )

    def _add_scaling(self, path: str, place: Place, scaling: Scaling) -> None:
        factor, problem = scaling
        if problem is not None:
            level, kind, message = problem
            self.issues.add(level, kind, message, path, folder_id=place.folder_id)
        self.rows["scaling"].append(
            {"path": path, "folder_id": place.folder_id, "scaling_factor": factor}
        )

    def _add_power(
        self, path: str, place: Place, facts: PowerFacts | None
    ) -> tuple[str, str | None]:
        if facts is None:
            return "stray", "in a power folder, but without readings"
        if facts.energy_j is None and (facts.reading_count or facts.device_kind == "total"):
            message = "no energy: its readings, window or efficiency are missing or impossible"
            self.issues.add(
                "warning", "power_log_unreadable", message, path, folder_id=place.folder_id
            )
        self.rows["power"].append(
            {
                "path": path,
                "folder_id": place.folder_id,
                "run_stem": place.run_stem,
                **asdict(facts),
            }
        )
        return "power", None

    def finish(self) -> dict[str, list[dict[str, Any]]]:
        """Returns the rows of every table but event, after comparing them with what was seen.

        Raises:
            ReconciliationError: folders or logs seen are not the rows to be written.
        """
        folders = self.folders.rows()
        logs = sum(row["kind"] == "result_log" for row in self.rows["source_file"])
        if len(folders) != self.folders.seen_count or logs != len(self.rows["run"]):
            raise ReconciliationError(
                f"{self.round.round_id}: {self.folders.seen_count} folders and {logs} result logs "
                f"were seen, {len(folders)} and {len(self.rows['run'])} rows would be written; "
                "this is an internal error, please report it"
            )
        return {**self.rows, "folder": folders, "issue": self.issues.rows()}


def _batch(table: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = contract(f"raw.{table}").arrow_schema()
    return pa.RecordBatch.from_pylist(rows, schema=schema)
