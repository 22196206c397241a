"""Jobs side by side: the same results in the same order, wherever they run."""

from __future__ import annotations

import math
import multiprocessing
import os
import time
from collections.abc import Callable

import pytest

from tasks.process.fanout import Processes, here, side_by_side

JOBS = [(float(i), 2.0) for i in range(20)]


def test_results_stand_in_the_order_of_the_jobs() -> None:
    squares = [float(i * i) for i in range(20)]
    assert here(math.pow, JOBS) == squares
    with side_by_side(2) as each:
        each.warm("math")
        assert each(math.pow, JOBS) == squares
        assert os.getpid() not in each(os.getpid, [(), (), ()])


def test_one_process_is_this_one() -> None:
    with side_by_side(1) as each:
        assert each is here
        each.warm("no such module")


def test_the_error_of_a_job_is_the_callers() -> None:
    with side_by_side(2) as each, pytest.raises(ValueError, match=r"math domain error|nonneg"):
        each(math.sqrt, [(1.0,), (-1.0,), (2.0,)])


def _ends_where_it_is_a_child(value: int, parent: int) -> int:
    if os.getpid() != parent:
        os._exit(9)
    return value


def test_what_a_process_that_was_ended_left_is_done_here() -> None:
    with side_by_side(2) as each:
        jobs = [(i, os.getpid()) for i in range(4)]
        assert each(_ends_where_it_is_a_child, jobs) == [0, 1, 2, 3]


def _in_time(is_so: Callable[[], bool]) -> bool:
    for _ in range(100):
        if is_so():
            return True
        time.sleep(0.1)
    return False


def test_processes_end_with_the_block() -> None:
    with side_by_side(2) as each:
        assert isinstance(each, Processes)
        each.warm()
        assert _in_time(lambda: bool(multiprocessing.active_children()))
    assert _in_time(lambda: not multiprocessing.active_children())


def test_processes_end_with_their_jobs_and_others_are_started_for_more() -> None:
    with side_by_side(2) as each:
        first = set(each(os.getpid, [()] * 4))
        assert _in_time(lambda: not multiprocessing.active_children())
        second = set(each(os.getpid, [()] * 4))
    assert os.getpid() not in first | second
    assert not first & second
