"""A function in a process of its own: its value, its error, its progress, its death."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

import pytest

from tasks.process.worker import WorkerDied, counted, run_alone


@dataclass(frozen=True)
class Piece:
    data: bytes


def total(sizes: list[int]) -> tuple[int, int]:
    """Bytes that passed, and the process they passed in."""
    return sum(len(piece.data) for piece in counted(Piece(b"x" * n) for n in sizes)), os.getpid()


def refuse() -> None:
    raise ValueError("no such round")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_value_comes_from_another_process_and_progress_is_seen() -> None:
    seen: list[tuple[int, int]] = []
    found, pid = run_alone(
        total, [10, 20, 30], follow=lambda done, files: seen.append((done, files))
    )
    assert found == 60
    assert pid != os.getpid()
    assert seen[-1] == (60, 3)


def test_an_error_comes_through_as_it_was() -> None:
    with pytest.raises(ValueError, match="no such round"):
        run_alone(refuse)


def test_a_killed_process_is_told_and_takes_nobody_with_it() -> None:
    with pytest.raises(WorkerDied, match="memory"):
        run_alone(die)
    assert run_alone(total, [1])[0] == 1
