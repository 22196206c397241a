"""Turns the records of many files into Arrow batches of raw.event.

Columns are built from whole buffers, never from one Python object per cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpurank.declared.contracts import contract
from gpurank.logs.records import JsonText, Records

_TEXTS = ("value", "metadata")


class _Codes(dict[str | None, int]):
    """Codes of texts in order of first appearance; Arrow's own encoding is ten times slower."""

    def __missing__(self, text: str | None) -> int:
        code = len(self)
        self[text] = code
        return code

    def encode(self, texts: Sequence[str | None]) -> NDArray[np.int32]:
        return np.fromiter(map(self.__getitem__, texts), np.int32, len(texts))

    def encode_uniform(self, texts: Sequence[str | None]) -> NDArray[np.int32]:
        """Does the same faster where all texts are usually equal."""
        if texts.count(texts[0]) == len(texts):
            return np.full(len(texts), self[texts[0]], np.int32)
        return self.encode(texts)


class EventBatch:
    """Collects the records of several files, one file after the other."""

    def __init__(self) -> None:
        self._schema = contract("raw.event").arrow_schema()
        names = self._schema.names
        self._codes = {n: _Codes() for n in names if pa.types.is_dictionary(self._type(n))}
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
        self._counts: list[int] = []
        self._texts: dict[str, list[bytes]] = {name: [] for name in _TEXTS}

    def _type(self, name: str) -> pa.DataType:
        return self._schema.field(name).type

    def add(self, path: str, records: Records) -> None:
        """Adds one file's records."""
        count = len(records)
        if not count:
            return
        self._counts.append(count)
        self._put("path", self._codes["path"].encode([path]))
        self._put("line_number", np.array(records.line_number, np.int32))
        self._put("time_ms", np.array(records.time_ms, np.float64))
        self._put("is_decodable", _flags(records.is_decodable))
        self._put("dialect", self._codes["dialect"].encode_uniform(records.dialect))
        for name in ("key", "event_type"):
            self._put(name, self._codes[name].encode(getattr(records, name)))
        for name in _TEXTS:
            texts: Sequence[JsonText] = getattr(records, name)
            self._put(name, np.fromiter(map(len, texts), np.int32, count))
            self._texts[name].append(records.joined(name))

    def _put(self, name: str, values: NDArray[Any]) -> None:
        self._parts[name].append(values)

    def batch(self) -> pa.RecordBatch | None:
        """Returns the rows of raw.event; None where no file had a record. Call it once."""
        if not self._counts:
            return None
        columns = [self._column(field) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, field: pa.Field) -> pa.Array:
        if field.name == "record_number":
            numbers = [np.arange(count, dtype=np.int32) for count in self._counts]
            return _numbers(np.concatenate(numbers), field.type)
        values = np.concatenate(self._parts.pop(field.name))
        if field.name == "path":
            values = np.repeat(values, self._counts)
        if field.name in _TEXTS:
            return _strings(values, b"".join(self._texts.pop(field.name)))
        if field.name in self._codes:
            return _encoded(values, self._codes[field.name], field.type)
        if field.name == "is_decodable":
            return _numbers(np.packbits(values, bitorder="little"), field.type, len(values))
        return _numbers(values, field.type, absent=np.isnan(values) if field.nullable else None)


def _flags(flags: Sequence[bool]) -> NDArray[np.bool_]:
    return np.ones(len(flags), np.bool_) if all(flags) else np.array(flags, np.bool_)


def _numbers(
    values: NDArray[Any],
    type_: pa.DataType,
    count: int | None = None,
    absent: NDArray[np.bool_] | None = None,
) -> pa.Array:
    """Returns values as an Arrow array without copying them; null where absent."""
    validity = None if absent is None else _bits(~absent)
    buffers = [validity, pa.py_buffer(values)]
    return pa.Array.from_buffers(type_, len(values) if count is None else count, buffers)


def _encoded(values: NDArray[Any], codes: _Codes, type_: pa.DataType) -> pa.Array:
    """Returns a dictionary array of codes; the code of None becomes null."""
    texts, absent = list(codes), None
    if None in codes:
        absent = values == codes[None]
        texts[codes[None]] = ""
    indices = _numbers(values, type_.index_type, absent=absent)
    return pa.DictionaryArray.from_arrays(indices, pa.array(texts, pa.string()))


def _strings(lengths: NDArray[Any], text: bytes) -> pa.Array:
    """Returns concatenated JSON texts (UTF-8) as an Arrow string array; empty ones are null."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(
        len(lengths), pa.py_buffer(offsets), pa.py_buffer(text), _bits(lengths > 0)
    )


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little").tobytes())
