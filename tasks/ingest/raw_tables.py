"""Raw tables of a round as Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gpurank.declared.contracts import contract
from gpurank.declared.rounds import declared_rounds
from gpurank.logs.round_tables import MapChunks, read_round
from gpurank.logs.source_files import SourceFile

_COMPRESSION = {"compression": "zstd", "compression_level": 1}
# Only texts that repeat: for others Parquet builds a dictionary and discards it again, which takes
# a quarter of the writing time.
_REPEATING = {"use_dictionary": ["path", "dialect", "key", "metadata", "event_type"]}
# Minimum and maximum only help a reader to skip rows of columns that are in order.
_ORDERED = {"write_statistics": ["path", "line_number", "record_number"]}


def write_round(
    files: Iterable[SourceFile], round_id: str, folder: Path, map_chunks: MapChunks = map
) -> None:
    """Reads a round's files and writes every raw table; the same files produce the same bytes.

    Args:
        files: the round's files in path order.
        round_id: the round's name.
        folder: an existing folder; gets ``<table>.parquet`` for each raw table.
        map_chunks: reads chunks of files, see gpurank.logs.round_tables.read_round.
    """
    rounds = declared_rounds()
    schema = contract("raw.event").arrow_schema()
    options = _COMPRESSION | _REPEATING | _ORDERED
    with pq.ParquetWriter(folder / "event.parquet", schema, **options) as events:
        for table, batch in read_round(files, rounds.get(round_id), rounds, map_chunks):
            if table == "event":
                events.write_batch(batch)
            else:
                rows = pa.Table.from_batches([batch])
                pq.write_table(rows, folder / f"{table}.parquet", **_COMPRESSION)
