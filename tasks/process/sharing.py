"""How the processes that may read are shared among the rounds to be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import BoundedSemaphore

# One process unpacks a round and puts together what partners read: enough work for so many.
_MOST_PARTNERS = 4


@dataclass(frozen=True, slots=True)
class Share:
    """Rounds that are read at once (None: no limit), and the partners that read each of them.

    Without partners a round's own process reads; see tasks/process/partners.py.
    """

    at_once: int | None
    partners: int

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until a round of this process may be read."""
        if self.at_once is None:
            yield
            return
        with _turns(self.at_once):
            yield


#: A round is read by one process, whatever others do.
ALONE = Share(None, 0)


def share(workers: int, round_count: int) -> Share:
    """The share of each of some rounds in a number of processes.

    Two partners for one round rather than two rounds: the memory of an archive's window is then
    needed once, and the last round leaves no core idle.
    """
    at_once = max(1, min(workers // 2, round_count))
    partners = min(workers // at_once, _MOST_PARTNERS)
    return Share(at_once, partners if partners > 1 else 0)


@cache
def _turns(count: int) -> BoundedSemaphore:
    return BoundedSemaphore(count)
