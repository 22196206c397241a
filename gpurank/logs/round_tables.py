"""A round's files into the raw tables of expectations/raw.

Every file becomes a row of source_file, every folder at benchmark level a row of folder, every
result log a row of run; whatever was odd becomes a row of issue. The sums are checked at the end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from gpurank.logs.read_files import Named, Reading, SourceFileLike, chunks, read_files
from gpurank.logs.runs import RunFacts
from gpurank.systems.descriptions import Description

TABLES = ("source_file", "folder", "event", "run", "system", "scaling", "power", "issue")

# What shapes the raw tables, beside every module of this package; a change in one of these
# makes new versions of every round.
_SHAPING = ("declared/rounds.py", "systems/descriptions.py", "systems/description_text.py")
_RUN_COLUMNS = tuple(
    column.name
    for column in contract("raw.run").columns
    if column.name not in ("path", "folder_id", "run_number")
)
_SHAPING_LOOKUPS = ("system_field.csv",)


Chunk: TypeAlias = list[SourceFileLike]
Found: TypeAlias = tuple[list[Reading], pa.RecordBatch | None]
Read: TypeAlias = Callable[[Chunk], Found]
Each: TypeAlias = Callable[[Read, Iterable[Chunk]], Iterator[tuple[Sequence[Named], Found]]]


class ReconciliationError(GpurankError, RuntimeError):
    """What was seen is not what was written: a fault of the reader, never of the data."""

    exit_code = Exit.VALIDATION


def in_turn(read: Read, chunks_: Iterable[Chunk]) -> Iterator[tuple[Sequence[Named], Found]]:
    """Each list of files with what was read in it, here and one after the other."""
    return ((chunk, read(chunk)) for chunk in chunks_)


def read_round(
    files: Iterable[SourceFileLike], round_: Round, rounds: Rounds, each: Each = in_turn
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The raw tables of a round.

    Args:
        files: the round's files, each once, in path order.
        round_: the round's declaration.
        rounds: all declarations, for the scoring rules.
        each: reads lists of files, in this process or with others; gives them in their order.

    Yields:
        (table, batch): batches of ``event`` as files come, every other table once at the end.
        Tables are named as in expectations/raw, without the ``raw.``.

    Raises:
        ReconciliationError: folders or logs seen are not the rows written.
    """
    reader = _RoundReader(round_, rounds)
    read = partial(read_files, round_=round_, rounds=rounds)
    for chunk, (readings, batch) in each(read, chunks(files)):
        for file, reading in zip(chunk, readings, strict=True):
            reader.take(file, reading)
        if batch is not None:
            yield "event", batch
    for table, rows in reader.finish().items():
        yield table, _batch(table, rows)


def code_hash(round_id: str) -> str:
    """SHA-256 over what shapes a round's raw tables, hexadecimal.

    The meaning of the reading modules (not their wording), the raw contracts, and the round's own
    declaration with its rules; editing another round's declaration does not change it.
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
    """Collects a round's rows while its files pass by."""

    def __init__(self, round_: Round, rounds: Rounds) -> None:
        self.round = round_
        self.rounds = rounds
        self.issues = Issues()
        self.folders = Folders(round_, rounds, self.issues)
        self.rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in TABLES if name not in ("event", "folder", "issue")
        }

    def take(self, file: Named, reading: Reading) -> None:
        """Note one file and what was read in it."""
        place = reading.place
        self.folders.see(place, is_read=reading.refusal is None)
        ignored: str | None
        if reading.refusal is not None:
            kind, ignored = "withheld", reading.refusal
            self._withheld(file.path, place, reading.refusal)
        else:
            self._note_undecodable(file.path, reading)
            kind, ignored = self._read(file.path, reading)
        self.rows["source_file"].append(
            {
                "path": file.path,
                "kind": kind,
                "folder_id": place.folder_id,
                "byte_count": file.byte_count,
                "sha256": file.sha256,
                "record_count": reading.record_count,
                "ignored_reason": ignored,
            }
        )

    def _withheld(self, path: str, place: Place, reason: str) -> None:
        """A file that is there and was not read: what it would have changed must not be guessed."""
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
        bad = reading.undecodable_count
        if bad:
            self.issues.add(
                "warning",
                "undecodable_records",
                f"{bad} of {reading.record_count} records cannot be read; they are kept as text",
                path,
                reading.undecodable_line,
                reading.place.folder_id,
            )

    def _read(self, path: str, reading: Reading) -> tuple[str, str | None]:
        """(kind, why it gives no row) of a file that was read."""
        place = reading.place
        if reading.run is not None and reading.rule is not None:
            self._run(path, place, reading.run, reading.rule)
        elif reading.description is not None:
            self._system(path, place, reading.description)
        elif reading.scaling is not None:
            self._scaling(path, place, reading.scaling)
        elif place.kind == "power":
            return self._power(path, place, reading.power)
        elif place.kind == "checker_params":
            self.folders.checker_params(place, reading.checker_params)
        elif place.kind == "marker":
            return "marker", "marks a folder; holds nothing"
        elif place.kind == "submission":
            return "submission", "names the submission's contact persons only"
        else:
            return self._extra(path, reading)
        return place.kind, None

    def _extra(self, path: str, reading: Reading) -> tuple[str, str]:
        """A file that gives no row, with an issue where it looks as if it should have."""
        place = reading.place
        if "scaling" in path.rpartition("/")[2].lower():
            message = "only a file called scaling.json beside the logs scales a result; not applied"
            self.issues.add("warning", "scaling_misnamed", message, path, folder_id=place.folder_id)
        if not reading.record_count:
            return "stray", "neither a log nor a description"
        if place.folder_id is None and reading.has_run_start:
            message = "a run's log that stands in no result folder; it counts nowhere"
            self.issues.add("warning", "log_outside_results", message, path)
        self.folders.extra_log(place, has_run_start=reading.has_run_start)
        return "extra_log", "not named and placed as a result log (result_*.txt)"

    def _run(self, path: str, place: Place, facts: RunFacts, rule: BenchmarkRule) -> None:
        self.folders.log(place, facts.benchmark_reported)
        self.issues.of_run(path, place, facts, rule, self.rounds, self.round.round_id)
        row = {name: getattr(facts, name) for name in _RUN_COLUMNS}
        self.rows["run"].append(
            {
                "path": path,
                "folder_id": place.folder_id,
                "run_number": run_number(path),
                **row,
            }
        )

    def _system(self, path: str, place: Place, description: Description) -> None:
        self.folders.system(path)
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

    def _scaling(self, path: str, place: Place, scaling: Scaling) -> None:
        factor, problem = scaling
        if problem is not None:
            level, kind, message = problem
            self.issues.add(level, kind, message, path, folder_id=place.folder_id)
        self.rows["scaling"].append(
            {"path": path, "folder_id": place.folder_id, "scaling_factor": factor}
        )

    def _power(self, path: str, place: Place, facts: PowerFacts | None) -> tuple[str, str | None]:
        if facts is None:
            return "stray", "in a power folder, but holds no readings"
        if facts.energy_j is None and (facts.reading_count or facts.device_kind == "total"):
            message = "no energy: its readings, window or efficiency are missing or cannot be"
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
        """Every table but event, checked against what was seen."""
        folders = self.folders.rows()
        logs = sum(row["kind"] == "result_log" for row in self.rows["source_file"])
        if len(folders) != self.folders.seen_count or logs != len(self.rows["run"]):
            raise ReconciliationError(
                f"{self.round.round_id}: {self.folders.seen_count} folders and {logs} result logs "
                f"were seen, {len(folders)} and {len(self.rows['run'])} rows would be written; "
                "please report this"
            )
        return {**self.rows, "folder": folders, "issue": self.issues.rows()}


def _batch(table: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = contract(f"raw.{table}").arrow_schema()
    return pa.RecordBatch.from_pylist(rows, schema=schema)
