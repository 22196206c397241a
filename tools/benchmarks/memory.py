"""Peak memory and processor time of a process and all that it started (Linux).

Pages that several share are counted once. Children of a process that makes processes are waited for
by that one, so that the operating system's own sum for a command lacks their time.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

_PROC = Path("/proc")
_EVERY_S = 0.1


def _family(root: int) -> set[int]:
    """The process and its descendants that are alive now."""
    parents: dict[int, int] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            # The name in brackets may hold anything; what follows its last bracket does not.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
    found, size = {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {child for child, parent in parents.items() if parent in found}
    return found


def _proportional_b(pid: int) -> int:
    """Memory of a process, a page shared by n processes counted as 1/n of it; B."""
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _processor_s(pid: int) -> float:
    """Time that a process's threads have run, s; 0 where it has ended."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Peak:
    """Samples a process's family until ``stop``; ``bytes`` is the highest sum seen.

    ``cpu_s`` is the processor time of all of it, as last seen of each.
    """

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._cpu_s: dict[int, float] = {}
        self._pid = pid
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._end.wait(_EVERY_S):
            family = _family(self._pid)
            self.bytes = max(self.bytes, sum(map(_proportional_b, family)))
            for pid in family:
                self._cpu_s[pid] = max(_processor_s(pid), self._cpu_s.get(pid, 0.0))

    @property
    def cpu_s(self) -> float:
        """Processor time of all processes of the family, s."""
        return sum(self._cpu_s.values())

    def stop(self) -> int:
        """End the sampling; the peak, B."""
        self._end.set()
        self._thread.join()
        return self.bytes
