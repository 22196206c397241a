"""Files read by partners: the same rows whoever reads, and a dead partner is told."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpurank.declared.rounds import declared_rounds
from gpurank.logs.round_tables import Chunk, Found, in_turn, read_round
from gpurank.logs.source_files import SourceFile
from tasks.ingest.raw_tables import write_round
from tasks.process import partners
from tasks.process.worker import WorkerDied, run_alone

LINE = b':::MLLOG {"time_ms": %d, "key": "%s", "value": %s, "metadata": {"lineno": %d}}\n'
ROUND_ID = "v4.0"


def a_log(number: int, size: int) -> SourceFile:
    """A run of ``number`` minutes with so many records between its start and its stop."""
    lines = [LINE % (n + 1, b"tracked_stats", b'{"throughput": %d}' % n, n) for n in range(size)]
    text = [LINE % (0, b"run_start", b"null", 1), *lines]
    stop = LINE % (number * 60_000 + 60_000, b"run_stop", b"null", 2)
    text.append(stop.replace(b'"lineno"', b'"status": "success", "lineno"'))
    return SourceFile(f"Acme/results/box/bert/result_{number}.txt", b"".join(text))


def files() -> list[SourceFile]:
    """A few MB of logs in many lists of files, one of them without a record."""
    logs = [a_log(number, 50 + 700 * (number % 7)) for number in range(40)]
    return [*logs, SourceFile("Acme/systems/box.json", b'{"submitter": "Acme"}')]


def written(folder: str, small: int) -> None:
    """The round's tables, its lists of files cut small; in the reading process."""
    import gpurank.logs.read_files as reading

    reading.CHUNK_B = small
    write_round(files(), ROUND_ID, Path(folder), each=partners.each)


@pytest.mark.parametrize("count", [1, 2])
def test_the_same_bytes_whoever_reads(tmp_path: Path, count: int) -> None:
    for name, partner_count in (("alone", 0), ("shared", count)):
        (tmp_path / name).mkdir()
        run_alone(written, str(tmp_path / name), 1 << 17, partner_count=partner_count)
    names = sorted(path.name for path in (tmp_path / "alone").iterdir())
    assert "event.parquet" in names
    for name in names:
        alone, shared = (tmp_path / folder / name for folder in ("alone", "shared"))
        assert alone.read_bytes() == shared.read_bytes(), name


@contextmanager
def lane_to(target: Any) -> Iterator[None]:
    """A lane to a thread that stands for the partner's process."""
    here, there = partners.lane(get_context("spawn"))
    beside = threading.Thread(target=target, args=(there,))
    beside.start()
    partners.join([here])
    try:
        yield
    finally:
        partners.join([])
        here.link.close()
        beside.join()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of files so short that there are many."""
    monkeypatch.setattr("gpurank.logs.read_files.CHUNK_B", 1 << 17)


def tables(each: Any) -> dict[str, list[Any]]:
    rounds = declared_rounds()
    found: dict[str, list[Any]] = {}
    for name, batch in read_round(files(), rounds.get(ROUND_ID), rounds, each):
        found.setdefault(name, []).extend(batch.to_pylist())
    return found


@pytest.mark.usefixtures("small")
def test_rows_that_do_not_fit_the_shared_memory_come_another_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = tables(in_turn)
    # Room for most lists of files, and not for what is read in any of them.
    monkeypatch.setattr(partners, "_STORE_B", 1 << 18)
    monkeypatch.setattr(partners, "_written", lambda view, batch: 0)
    with lane_to(partners.assist):
        assert tables(partners.each) == expected


def test_rows_written_to_memory_that_is_too_small_are_not_said_to_be_there() -> None:
    batch = pa.RecordBatch.from_pydict({"a": list(range(1000))})
    assert partners._written(memoryview(bytearray(100)), batch) == 0
    room = bytearray(1 << 16)
    size_b = partners._written(memoryview(room), batch)
    assert pa.ipc.open_stream(bytes(room[:size_b])).read_next_batch().equals(batch)


def refusing(chunk: Chunk) -> Found:
    raise ValueError(f"cannot read {chunk[0].path}")


def test_what_a_partner_raised_is_raised_here() -> None:
    chunk: Chunk = list(files()[:1])
    with (
        lane_to(partners.assist),
        pytest.raises(ValueError, match=r"cannot read Acme/results/box/bert/result_0\.txt"),
    ):
        list(partners.each(refusing, [list(chunk) for _ in range(9)]))


@pytest.mark.usefixtures("small")
def test_partners_read_again_after_a_reading_that_was_broken_off() -> None:
    # As an archive whose files turn out to be in another order makes it.
    expected = tables(in_turn)

    def broken_off(read: Any, chunks: Any) -> Any:
        for number, found in enumerate(partners.each(read, chunks)):
            if number == 2:
                raise ValueError("another order")
            yield found

    with lane_to(partners.assist):
        with pytest.raises(ValueError, match="another order"):
            tables(broken_off)
        assert tables(partners.each) == expected


def killing(chunk: Chunk) -> Found:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def asking(read: Any) -> None:
    chunk: Chunk = list(files()[:1])
    for _ in partners.each(read, [list(chunk), list(chunk)]):
        pass


def test_a_partner_that_was_killed_is_told() -> None:
    with pytest.raises(WorkerDied, match="--workers 1"):
        run_alone(asking, killing, partner_count=1)


def read_nothing(chunk: Chunk) -> Found:
    return [], None


def test_partners_end_with_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks.process import worker

    started = []
    context = worker._context()
    make = context.Process  # type: ignore[attr-defined]

    def process(*args: Any, **options: Any) -> Any:
        started.append(make(*args, **options))
        return started[-1]

    monkeypatch.setattr(context, "Process", process)
    monkeypatch.setattr(worker, "_context", lambda: context)
    run_alone(asking, read_nothing, partner_count=2)
    # Two partners and the reading process.
    assert [one.exitcode for one in started] == [0, 0, 0]


def crowded(folder: str) -> None:
    """A round of one log whose rows take more room than its bytes; in the reading process."""
    data = b':::MLLOG {"key": "a"}\n' * 250_000
    file = SourceFile("Acme/results/box/bert/result_0.txt", data)
    write_round([file], ROUND_ID, Path(folder), each=partners.each)


def test_rows_that_take_more_room_than_their_files_come_over_the_connection(
    tmp_path: Path,
) -> None:
    run_alone(crowded, str(tmp_path), partner_count=1)
    assert pq.read_metadata(tmp_path / "event.parquet").num_rows == 250_000
