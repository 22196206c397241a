"""How processes are shared among rounds."""

from __future__ import annotations

import threading

import pytest

from tasks.process.sharing import ALONE, Share, share


@pytest.mark.parametrize(
    ("workers", "rounds", "at_once", "partners"),
    [
        (1, 9, 1, 0),
        (2, 9, 1, 2),
        (3, 9, 1, 3),
        (4, 9, 2, 2),
        (8, 9, 4, 2),
        (8, 1, 1, 4),
        (2, 1, 1, 2),
        (64, 2, 2, 4),
    ],
)
def test_no_more_readers_than_workers_and_none_idle(
    workers: int, rounds: int, at_once: int, partners: int
) -> None:
    assert share(workers, rounds) == Share(at_once, partners)
    assert at_once * max(1, partners) <= workers


def test_a_turn_waits_for_another() -> None:
    waits = threading.Event()
    with Share(1, 0).turn(), ALONE.turn():
        other = threading.Thread(target=lambda: [Share(1, 3).turn().__enter__(), waits.set()])
        other.daemon = True
        other.start()
        assert not waits.wait(0.05)
    assert waits.wait(5)
