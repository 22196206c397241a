"""A round read by several processes: a reading process hands lists of files to partners.

It unpacks and hashes the files and writes the rows; two threads that hold the interpreter in turns
would do no more than one, so that reading proper is the partners' alone. They stand beside it
(worker.py starts them). Files go out, and rows come back, in memory that both sides see; what
is said about them goes over a connection. What is found comes back in the order of the files, so
that it is the same whoever read which.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.sharedctypes import RawArray
from queue import SimpleQueue
from typing import Any

import pyarrow as pa

from gpurank.errors import GpurankError
from gpurank.logs.read_files import CHUNK_B, Named, Reading
from gpurank.logs.round_tables import Chunk, Found, Read, in_turn
from gpurank.logs.source_files import SourceFile

# A list of files is as long as it must be to pass CHUNK_B; one that is longer still is read here.
_STORE_B = 2 * CHUNK_B


class PartnerDied(GpurankError, RuntimeError):
    """A partner ended without an answer."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A way to a partner: a connection, and memory that both sides see."""

    link: Connection
    store: Any

    def view(self) -> memoryview:
        return memoryview(self.store).cast("B")


@dataclass(frozen=True, slots=True)
class _Sent:
    """What is still needed here of a file whose bytes a partner has."""

    path: str
    byte_count: int
    sha256: str


_lanes: list[Lane] = []


def lane(context: BaseContext) -> tuple[Lane, Lane]:
    """The reading process's end of a way to a partner, and the partner's."""
    store = RawArray("B", _STORE_B)
    here, there = context.Pipe()
    return Lane(here, store), Lane(there, store)


def join(joined: Sequence[Lane]) -> None:
    """Have partners at the other ends; in the reading process."""
    _lanes[:] = joined


def each(read: Read, chunks: Iterable[Chunk]) -> Iterator[tuple[Sequence[Named], Found]]:
    """Each list of files with what the partners read in it, in order; read here without any.

    Raises:
        PartnerDied: a partner was killed.
        Exception: what reading raised, whoever read.
    """
    if not _lanes:
        yield from in_turn(read, chunks)
        return
    idle: SimpleQueue[Lane] = SimpleQueue()
    for one in _lanes:
        one.link.send(read)
        idle.put(one)
    coming: deque[tuple[Sequence[Named], Future[Found]]] = deque()
    with ThreadPoolExecutor(len(_lanes)) as pool:
        for chunk in chunks:
            sent = [_Sent(file.path, file.byte_count, file.sha256) for file in chunk]
            if sum(len(file.data) for file in chunk) <= _STORE_B:
                coming.append((sent, pool.submit(_ask, idle, chunk)))
            else:  # it has a file that is larger than any published
                coming.append((sent, _done(read(chunk))))
            while coming and (coming[0][1].done() or len(coming) > len(_lanes)):
                taken, found = coming.popleft()
                yield taken, found.result()
        for taken, found in coming:
            yield taken, found.result()


def _done(found: Found) -> Future[Found]:
    future: Future[Found] = Future()
    future.set_result(found)
    return future


def _ask(idle: SimpleQueue[Lane], chunk: Chunk) -> Found:
    """What a partner finds in the files; empties the list when they are on their way."""
    one = idle.get()
    try:
        with one.view() as view:
            position = 0
            for file in chunk:
                view[position : (position := position + len(file.data))] = file.data
        headers = [(file.path, len(file.data), file.withheld_reason) for file in chunk]
        chunk.clear()
        one.link.send(headers)
        readings, size_b, batch, failure = one.link.recv()
        if size_b:
            with one.view() as view:
                batch = pa.ipc.open_stream(bytes(view[:size_b])).read_next_batch()
    except (EOFError, OSError):
        raise PartnerDied from None
    finally:
        idle.put(one)
    if failure is not None:
        raise failure
    return readings, batch


def assist(joined: Lane) -> None:
    """Read what is asked for until nobody asks any more; in the partner's process."""
    read: Read | None = None
    try:
        while True:
            asked = joined.link.recv()
            if callable(asked):
                read = asked  # how to read what comes
            elif read is not None:
                _answer(joined, read, asked)
    except (EOFError, OSError):
        return


def _answer(joined: Lane, read: Read, headers: list[tuple[str, int, str | None]]) -> None:
    readings: list[Reading] = []
    batch: pa.RecordBatch | None = None
    failure: Exception | None = None
    size_b = 0
    with joined.view() as view:
        try:
            readings, batch = read(_received(view, headers))
            size_b = _written(view, batch)
        except Exception as error:
            failure = error
    joined.link.send((readings, size_b, None if size_b else batch, failure))


def _received(view: memoryview, headers: list[tuple[str, int, str | None]]) -> Chunk:
    files: Chunk = []
    position = 0
    for path, size_b, reason in headers:
        data = bytes(view[position : (position := position + size_b)])
        files.append(SourceFile(path, data, reason))
    return files


def _written(view: memoryview, batch: pa.RecordBatch | None) -> int:
    """Bytes of the rows in the shared memory; 0 where there are none, or too many for it."""
    if batch is None:
        return 0
    try:
        with pa.FixedSizeBufferWriter(pa.py_buffer(view)) as sink:
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            return int(sink.tell())
    except (OSError, pa.ArrowException):
        return 0
