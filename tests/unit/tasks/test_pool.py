"""Processes: values, errors and order are those of a plain call, and a death is one clear error."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tasks.pool import Progress, WorkerDied, ordered_map, run_in_subprocess, side_by_side

JOBS = [(float(number), 2.0) for number in range(20)]
SQUARES = [float(number * number) for number in range(20)]


def kill_this_process(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number: int) -> int:
    raise ValueError(f"cannot read number {number}")


def refuse_odd(number: int) -> int:
    return refuse(number) if number % 2 else number


# Jobs side by side


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_stand_in_the_order_of_the_jobs(workers: int) -> None:
    with side_by_side(workers) as each:
        assert each(math.pow, JOBS) == SQUARES
        assert each(math.pow, []) == []
        assert (os.getpid() in each(os.getpid, [()] * 3)) == (workers == 1)


def test_the_first_error_of_a_job_is_raised() -> None:
    with side_by_side(2) as each, pytest.raises(ValueError, match="cannot read number 1"):
        each(refuse_odd, [(0,), (1,), (2,), (3,)])


def test_a_killed_process_is_an_error_that_says_what_to_do() -> None:
    with side_by_side(2) as each, pytest.raises(WorkerDied, match=r"memory.*--workers 1"):
        each(kill_this_process, [(), ()])


def test_processes_end_with_the_block() -> None:
    with side_by_side(2) as each:
        each(os.getpid, [()] * 4)
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()


# A map that streams


@pytest.mark.parametrize("workers", [1, 2])
def test_a_map_keeps_the_order(workers: int) -> None:
    with ordered_map(workers) as pool_map:
        assert list(pool_map(math.sqrt, SQUARES)) == [float(number) for number in range(20)]


def test_a_map_takes_only_a_few_items_ahead() -> None:
    taken = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    with ordered_map(2) as pool_map:
        results = pool_map(math.sqrt, numbers())
        assert next(results) == 0.0
        assert len(taken) < 10


def test_a_map_serves_again_after_one_that_was_broken_off() -> None:
    with ordered_map(2) as pool_map:
        with pytest.raises(ValueError, match="cannot read number 1"):
            list(pool_map(refuse_odd, range(9)))
        next(pool_map(abs, range(50)))
        assert list(pool_map(abs, range(-3, 0))) == [3, 2, 1]


def test_a_killed_process_of_a_map_is_an_error() -> None:
    with ordered_map(2) as pool_map, pytest.raises(WorkerDied):
        list(pool_map(kill_this_process, range(5)))


# A process of its own


def add(*numbers: int, progress: Progress | None = None) -> tuple[int, int]:
    for count, number in enumerate(numbers, 1):
        if progress is not None:
            progress(number, count)
    return sum(numbers), os.getpid()


def test_the_value_comes_from_another_process_with_its_progress() -> None:
    reports: list[tuple[int, int]] = []
    total, pid = run_in_subprocess(add, 10, 20, follow=lambda *counts: reports.append(counts))
    assert (total, reports) == (30, [(10, 1), (20, 2)])
    assert pid != os.getpid()


def test_an_error_comes_through_with_its_traceback() -> None:
    with pytest.raises(ValueError, match="cannot read number 7") as caught:
        run_in_subprocess(refuse, 7)
    assert "in refuse" in caught.value.__notes__[0]


def test_a_killed_subprocess_is_an_error_and_the_next_one_works() -> None:
    with pytest.raises(WorkerDied, match="memory"):
        run_in_subprocess(kill_this_process)
    assert run_in_subprocess(add, 1)[0] == 1


def map_with_killed_reader() -> None:
    with ordered_map(2) as pool_map:
        list(pool_map(kill_this_process, range(5)))


def test_a_killed_reader_of_a_subprocess_is_the_same_error() -> None:
    with pytest.raises(WorkerDied, match="--workers 1"):
        run_in_subprocess(map_with_killed_reader)


# Where no process may be started


def run_everything(sender: Connection) -> None:
    with side_by_side(2) as each, ordered_map(2) as pool_map:
        pids = {*each(os.getpid, [()] * 2), run_in_subprocess(add, 1)[1]}
        sender.send((pids == {os.getpid()}, list(pool_map(abs, [-1, 2]))))


def test_a_daemonic_process_does_everything_itself() -> None:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=run_everything, args=(sender,), daemon=True)
    process.start()
    assert receiver.recv() == (True, [1, 2])
    process.join()


# Orphans

_WAITING = """
import os, sys, time
from tasks.pool import ordered_map, run_in_subprocess
def wait(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    time.sleep(600)
def outer(folder):
    with ordered_map(2) as pool_map:
        list(pool_map(wait, [folder, folder]))
if __name__ == "__main__":
    run_in_subprocess(outer, sys.argv[1])
"""


def eventually(is_so: Callable[[], bool]) -> bool:
    """Whether something becomes so within 30 s."""
    for _ in range(300):
        if is_so():
            return True
        time.sleep(0.1)
    return False


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_no_process_outlives_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(_WAITING)
    folder = tmp_path / "pids"
    folder.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(folder)])
    assert eventually(lambda: len(list(folder.iterdir())) == 2)
    parent.kill()
    parent.wait()
    pids = [int(path.name) for path in folder.iterdir()]
    assert eventually(lambda: not any(map(_is_alive, pids)))
