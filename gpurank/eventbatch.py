"""Records of many files as Arrow batches of raw.event, without a Python object per cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from gpurank.contracts import contract
from gpurank.mllog import JsonText, Records

_ROWS = 1 << 17
_BYTES = 1 << 25


class EventBatches:
    """Collects records file by file and gives a batch out whenever enough have come together."""

    def __init__(self) -> None:
        self._schema = contract("raw.event").arrow_schema()
        self._pending: list[tuple[str, Records]] = []
        self._rows = 0
        self._bytes = 0

    def add(self, path: str, records: Records, byte_count: int) -> Iterator[pa.RecordBatch]:
        """Take one file's records; gives a full batch where this one fills it."""
        if not len(records):
            return
        self._pending.append((path, records))
        self._rows += len(records)
        self._bytes += byte_count
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Give out what has come together."""
        if self._pending:
            pending, self._pending = self._pending, []
            self._rows = self._bytes = 0
            yield event_batch(pending, self._schema)


def event_batch(files: Sequence[tuple[str, Records]], schema: pa.Schema) -> pa.RecordBatch:
    """One batch of raw.event out of the records of some files."""
    counts = [len(records) for _, records in files]
    columns = {
        "path": pa.DictionaryArray.from_arrays(
            pa.array(np.repeat(np.arange(len(files), dtype=np.int32), counts)),
            pa.array([path for path, _ in files]),
        ),
        "line_number": pa.array(_joined([r.line_number for _, r in files], np.int32)),
        "record_number": pa.array(
            np.concatenate([np.arange(count, dtype=np.int32) for count in counts])
        ),
        "dialect": _dictionary([r.dialect for _, r in files]),
        "time_ms": pa.chunked_array(
            [pa.array(r.time_ms, pa.float64()) for _, r in files]
        ).combine_chunks(),
        "key": _dictionary([r.key for _, r in files]),
        "value": _texts(list(chain.from_iterable(r.value for _, r in files))),
        "metadata": _texts(list(chain.from_iterable(r.metadata for _, r in files))),
        "event_type": _dictionary([r.event_type for _, r in files]),
        "is_decodable": pa.array(list(chain.from_iterable(r.is_decodable for _, r in files))),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _joined(parts: Sequence[Sequence[int]], dtype: type[np.int32]) -> np.ndarray:
    return np.concatenate([np.asarray(part, dtype=dtype) for part in parts])


def _dictionary(parts: Sequence[Sequence[str | None]]) -> pa.Array:
    """Dictionary-encoded text; values in the order of first appearance."""
    chunks = [pa.array(part, pa.string()) for part in parts]
    return pa.chunked_array(chunks).combine_chunks().dictionary_encode()


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
