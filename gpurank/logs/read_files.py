"""What a round's files hold, each by itself.

Nothing here knows of another file, so that files may be read by several processes; what follows
from them together is gpurank.logs.round_tables's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

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
from gpurank.systems.descriptions import Description, read_description

#: Bytes of files that are read, and whose events are written, together.
CHUNK_B = 4 << 20


class Named(Protocol):
    """What is known of a file without its bytes."""

    @property
    def path(self) -> str: ...
    @property
    def byte_count(self) -> int: ...
    @property
    def sha256(self) -> str: ...


class SourceFileLike(Named, Protocol):
    """A file of a snapshot; gpurank.logs.source_files.SourceFile is one."""

    @property
    def data(self) -> bytes: ...
    @property
    def withheld_reason(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file holds; most files hold one kind of thing or nothing.

    ``refusal`` says why a file was not read. ``run`` and ``rule`` are there for a result log,
    ``power`` for a power log that is one, ``description``, ``scaling`` (as read_scaling gives it)
    and ``checker_params`` for files of that kind.
    """

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


def chunks(files: Iterable[SourceFileLike]) -> Iterator[list[SourceFileLike]]:
    """The files in lists of some ``CHUNK_B``; the same files give the same lists."""
    taken: list[SourceFileLike] = []
    size_b = 0
    for file in files:
        taken.append(file)
        size_b += len(file.data)
        if size_b >= CHUNK_B:
            yield taken
            taken, size_b = [], 0
    if taken:
        yield taken


def read_files(
    files: Sequence[SourceFileLike], round_: Round, rounds: Rounds
) -> tuple[list[Reading], pa.RecordBatch | None]:
    """A reading of each file, and the rows of raw.event of all of them; None where there are none.

    Args:
        files: some of a round's files.
        round_: the round's declaration.
        rounds: all declarations, for the scoring rules.
    """
    events = EventBatch()
    readings = []
    for file in files:
        place = classify(file.path, round_)
        refusal = file.withheld_reason or refusal_reason(file.data)
        if refusal is None and place.kind in ("result_log", "extra_log", "power"):
            records = read_log(file.data)
            events.add(file.path, records)
            readings.append(_log(file, place, records, round_, rounds))
        else:
            readings.append(Reading(place, refusal) if refusal else _other(file, place))
    return readings, events.batch()


def _other(file: SourceFileLike, place: Place) -> Reading:
    """The reading of a file that is no log."""
    if place.kind == "system_description":
        return Reading(place, description=read_description(file.data, file.path))
    if place.kind == "scaling":
        return Reading(place, scaling=read_scaling(file.data))
    if place.kind == "checker_params":
        return Reading(place, checker_params=checker_params(file.data))
    return Reading(place)


def _log(
    file: SourceFileLike, place: Place, records: Records, round_: Round, rounds: Rounds
) -> Reading:
    bad = records.is_decodable.count(False)
    run = rule = power = None
    if place.kind == "result_log":
        folder = place.benchmark_folder or LogView(records).benchmark() or ""
        rule = rounds.rule(round_.round_id, folder)
        run = run_facts(records, rule)
    elif place.kind == "power":
        power = power_facts(file.data, records, file.path.rpartition("/")[2])
    return Reading(
        place,
        None,
        len(records),
        bad,
        records.line_number[records.is_decodable.index(False)] if bad else None,
        "run_start" in records.key,
        run,
        rule,
        power,
    )
