"""What a round's files hold, each by itself.

Nothing here knows of another file, so that files may be read by several processes; what follows
from them together is gpurank.logs.round_tables's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from gpurank.declared.rounds import BenchmarkRule, Round, Rounds
from gpurank.logs.convergence_scaling import Scaling, read_scaling
from gpurank.logs.event_columns import EventBatch
from gpurank.logs.folders import checker_params
from gpurank.logs.layout import Place, classify
from gpurank.logs.log_view import LogView
from gpurank.logs.power import PowerFacts, power_facts
from gpurank.logs.records import Records, read_log, refusal_reason
from gpurank.logs.runs import RunFacts, run_facts
from gpurank.logs.source_files import SourceFile
from gpurank.systems.descriptions import Description, read_description

#: Size of a chunk, B: files that are read, and whose events are written, together.
CHUNK_B = 4 << 20

Chunk: TypeAlias = list[SourceFile]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file holds; most files hold one kind of thing or nothing.

    ``path``, ``byte_count``, ``sha256`` and ``git_blob`` are the file's (SourceFile). ``refusal``
    says why it was not read.
    ``run`` and ``rule`` are there for a result log, ``power`` for a power log that is one,
    ``description``, ``scaling`` (as read_scaling returns it) and ``checker_params`` for files of
    that kind.
    """

    path: str
    byte_count: int | None
    sha256: str | None
    git_blob: str | None
    place: Place
    refusal: str | None = None
    record_count: int = 0
    undecodable_count: int = 0
    undecodable_line: int | None = None
    has_run_start: bool = False
    run: RunFacts | None = None
    rule: BenchmarkRule | None = None
    power: PowerFacts | None = None
    description: Description | None = None
    scaling: Scaling | None = None
    checker_params: str | None = None


def cut_into_chunks(files: Iterable[SourceFile]) -> Iterator[Chunk]:
    """Yields the files in lists of at least ``CHUNK_B``; the same files give the same lists."""
    chunk: Chunk = []
    size_b = 0
    for file in files:
        chunk.append(file)
        size_b += len(file.data)
        if size_b >= CHUNK_B:
            yield chunk
            chunk, size_b = [], 0
    if chunk:
        yield chunk


def read_files(
    files: Sequence[SourceFile], round_: Round, rounds: Rounds
) -> tuple[list[Reading], pa.RecordBatch | None]:
    """Returns a reading of each file, and the rows of raw.event of all of them, None if no rows.

    Args:
        files: some of a round's files.
        round_: the round's declaration.
        rounds: all declarations, for the scoring rules.
    """
    events = EventBatch()
    readings = [_read_file(file, round_, rounds, events) for file in files]
    return readings, events.batch()


def _read_file(file: SourceFile, round_: Round, rounds: Rounds, events: EventBatch) -> Reading:
    """Returns the reading of one file; adds the records of a log to the events."""
    place = classify(file.path, round_)
    reading = Reading(file.path, file.byte_count, file.sha256, file.git_blob, place)
    refusal = file.withheld_reason or refusal_reason(file.data)
    if refusal is not None:
        return replace(reading, refusal=refusal)
    match place.kind:
        case "result_log" | "extra_log" | "power":
            records = read_log(file.data)
            events.add(file.path, records)
            return _read_records(reading, file.data, records, round_, rounds)
        case "system_description":
            return replace(reading, description=read_description(file.data, file.path))
        case "scaling":
            return replace(reading, scaling=read_scaling(file.data))
        case "checker_params":
            return replace(reading, checker_params=checker_params(file.data))
        case _:
            return reading


def _read_records(
    reading: Reading, data: bytes, records: Records, round_: Round, rounds: Rounds
) -> Reading:
    """Returns the reading of a log, from its records."""
    place = reading.place
    undecodable_count = records.is_decodable.count(False)
    run = rule = power = None
    if place.kind == "result_log":
        folder = place.benchmark_folder or LogView(records).benchmark() or ""
        rule = rounds.rule(round_.round_id, folder)
        run = run_facts(records, rule)
    elif place.kind == "power":
        power = power_facts(data, records, reading.path.rpartition("/")[2])
    return replace(
        reading,
        record_count=len(records),
        undecodable_count=undecodable_count,
        undecodable_line=(
            records.line_number[records.is_decodable.index(False)] if undecodable_count else None
        ),
        has_run_start="run_start" in records.key,
        run=run,
        rule=rule,
        power=power,
    )
