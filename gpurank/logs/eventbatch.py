"""Records of many files as Arrow batches of raw.event, without a Python object per cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from gpurank.declared.contracts import contract
from gpurank.logs.mllog import JsonText, Records

_ROWS = 1 << 17
_BYTES = 1 << 25


class EventBatches:
    """Collects records file by file and gives a batch out whenever enough have come together."""

    def __init__(self) -> None:
        self._schema = contract("raw.event").arrow_schema()
        self._plain = pa.schema([pa.field(f.name, _plain(f.type)) for f in self._schema])
        self._pending: list[pa.RecordBatch] = []
        self._rows = 0
        self._bytes = 0

    def add(self, path: str, records: Records, byte_count: int) -> Iterator[pa.RecordBatch]:
        """Take one file's records; gives a full batch where this one fills it."""
        if not len(records):
            return
        self._pending.append(
            pa.RecordBatch.from_arrays(_columns(path, records), schema=self._plain)
        )
        self._rows += len(records)
        self._bytes += byte_count
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Give out what has come together."""
        if self._pending:
            pending, self._pending = self._pending, []
            self._rows = self._bytes = 0
            table = pa.Table.from_batches(pending)
            yield pa.RecordBatch.from_arrays(
                [_as(table[field.name].combine_chunks(), field.type) for field in self._schema],
                schema=self._schema,
            )


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def _as(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Text as dictionary where the contract says so; values in order of first appearance."""
    return column.dictionary_encode() if pa.types.is_dictionary(type_) else column


def _columns(path: str, records: Records) -> list[pa.Array]:
    """One file's records in the order of raw.event's columns, text not yet dictionary-encoded."""
    count = len(records)
    return [
        pa.repeat(path, count),
        pa.array(records.line_number, pa.int32()),
        pa.array(np.arange(count, dtype=np.int32)),
        pa.array(records.dialect, pa.string()),
        pa.array(records.time_ms, pa.float64()),
        pa.array(records.key, pa.string()),
        _texts(records.value),
        _texts(records.metadata),
        pa.array(records.event_type, pa.string()),
        pa.array(records.is_decodable, pa.bool_()),
    ]


def _texts(texts: Sequence[JsonText]) -> pa.Array:
    """JSON texts (UTF-8 buffers) as an Arrow string array; empty ones become null."""
    lengths = np.fromiter(map(len, texts), dtype=np.int32, count=len(texts))
    offsets = np.zeros(len(texts) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    present = lengths > 0
    validity = pa.py_buffer(np.packbits(present, bitorder="little").tobytes())
    return pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(offsets), pa.py_buffer(b"".join(texts)), validity
    )
