"""Raw tables of a round as Parquet files."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gpurank.declared.contracts import contract
from gpurank.declared.rounds import declared_rounds
from gpurank.logs.read_files import SourceFileLike, chunks
from gpurank.logs.round_tables import TABLES, Each, in_turn, read_round
from gpurank.logs.source_files import content_hash

_COMPRESSION = {"compression": "zstd", "compression_level": 1}
# Texts that repeat; a dictionary of all others is built and thrown away at the price of a quarter
# of the writing time.
_REPEATING = {"use_dictionary": ["path", "dialect", "key", "metadata", "event_type"]}
# The least and the greatest of texts that are not in order find nothing.
_ORDERED = {"write_statistics": ["path", "line_number", "record_number"]}
# Lists of files that are fetched ahead of the reading.
_AHEAD = 2


@dataclass(slots=True)
class RoundCounts:
    """What a round was made of: files, bytes, records, folders and their fate, issues a kind."""

    files: int = 0
    bytes: int = 0
    records: int = 0
    folders: int = 0
    results: int = 0
    quarantined: int = 0
    content_hash: str = ""
    issues: dict[str, int] = field(default_factory=dict)


def write_round(
    files: Iterable[SourceFileLike],
    round_id: str,
    target_dir: Path,
    progress: Callable[[int], None] | None = None,
    each: Each = in_turn,
) -> RoundCounts:
    """Read a round's files and write every raw table into a folder.

    Args:
        files: the round's files in path order.
        round_id: the round's name.
        target_dir: an existing folder; gets ``<table>.parquet`` for each raw table.
        progress: called with the number of bytes read so far after each file.
        each: who reads the files, see gpurank.logs.round_tables.read_round.

    The same files give the same bytes.
    """
    rounds = declared_rounds()
    counts = RoundCounts()
    with _event_writer(target_dir) as events, ThreadPoolExecutor(1) as writing:
        followed = _followed(_ahead(files), progress)
        written: Future[None] | None = None
        for table, batch in read_round(followed, rounds.get(round_id), rounds, each):
            if table == "event":
                # One batch is written while the next is read; both free the interpreter.
                if written is not None:
                    written.result()
                written = writing.submit(events.write_batch, batch)
                counts.records += batch.num_rows
            else:
                _write(target_dir / f"{table}.parquet", batch)
                _count(counts, table, batch)
        if written is not None:
            written.result()
    return counts


@dataclass(frozen=True, slots=True)
class _Taken:
    """A file with its hash, made beside the reading."""

    path: str
    data: bytes
    withheld_reason: str | None
    byte_count: int
    sha256: str


def _taken(file: SourceFileLike) -> SourceFileLike:
    return _Taken(file.path, file.data, file.withheld_reason, file.byte_count, file.sha256)


def _ahead(files: Iterable[SourceFileLike]) -> Iterator[SourceFileLike]:
    """The same files; unpacking and hashing them happens beside the reading."""
    source = chunks(map(_taken, files))
    with ThreadPoolExecutor(1) as fetching:
        coming = deque(fetching.submit(next, source, None) for _ in range(_AHEAD))
        while some := coming.popleft().result():
            coming.append(fetching.submit(next, source, None))
            yield from some


def _count(counts: RoundCounts, table: str, batch: pa.RecordBatch) -> None:
    if table == "source_file":
        counts.files = batch.num_rows
        counts.bytes = pc.sum(batch["byte_count"]).as_py() or 0
        names = (batch[name].to_pylist() for name in ("path", "sha256"))
        counts.content_hash = content_hash(zip(*names, strict=True))
    elif table == "folder":
        counts.folders = batch.num_rows
        counts.results = batch["quarantine_reason"].null_count
        counts.quarantined = counts.folders - counts.results
    elif table == "issue":
        counts.issues = dict(sorted(Counter(batch["kind"].to_pylist()).items()))


def _followed(
    files: Iterable[SourceFileLike], progress: Callable[[int], None] | None
) -> Iterator[SourceFileLike]:
    done = 0
    for file in files:
        yield file
        done += file.byte_count
        if progress is not None:
            progress(done)


def _event_writer(target_dir: Path) -> pq.ParquetWriter:
    schema = contract("raw.event").arrow_schema()
    options = _COMPRESSION | _REPEATING | _ORDERED
    return pq.ParquetWriter(target_dir / "event.parquet", schema, **options)


def _write(path: Path, batch: pa.RecordBatch) -> None:
    pq.write_table(pa.Table.from_batches([batch]), path, **_COMPRESSION)


__all__ = ["TABLES", "RoundCounts", "write_round"]
