"""What a person sees on stderr while a run works: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from gpurank.terminal_safety import say, visible
from tasks.ingest.round import Outcome

_LINE_EVERY_S = 5.0
_MB = 1_000_000


class Progress:
    """Quiet base: tells nothing. Methods may be called from several threads."""

    def reading(self, round_id: str, done_b: int, files: int) -> None:
        """So many bytes and files of a round have been read."""

    def finished(self, outcome: Outcome) -> None:
        """A round is done, or failed."""

    def say(self, text: str) -> None:
        """One line about the run."""


class Lines(Progress):
    """A line every few seconds and one at each end; for logs and pipes."""

    def __init__(self, expected_b: Mapping[str, int]) -> None:
        self._expected = expected_b
        self._started: dict[str, float] = {}
        self._told: dict[str, float] = {}
        self._lock = threading.Lock()

    def reading(self, round_id: str, done_b: int, files: int) -> None:
        now = time.monotonic()
        started = self._started.setdefault(round_id, now)
        if now - self._told.setdefault(round_id, now) >= _LINE_EVERY_S:
            self._told[round_id] = now
            self.say(
                f"{round_id}: {rate_text(done_b, self._expected.get(round_id), now - started)}"
            )

    def finished(self, outcome: Outcome) -> None:
        started = self._started.pop(outcome.round_id, None)
        spent = None if started is None else time.monotonic() - started
        self.say(outcome_text(outcome, spent))

    def say(self, text: str) -> None:
        with self._lock:
            say(text, sys.stderr)


class Bars(Lines):
    """A bar a round, with rate and remaining time; for terminals."""

    def __init__(self, expected_b: Mapping[str, int]) -> None:
        super().__init__(expected_b)
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as RichProgress

        self.bars = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._ids: dict[str, Any] = {}

    def reading(self, round_id: str, done_b: int, files: int) -> None:
        self._started.setdefault(round_id, time.monotonic())
        if round_id not in self._ids:
            total = self._expected.get(round_id)
            self._ids[round_id] = self.bars.add_task(round_id, total=total)
        self.bars.update(self._ids[round_id], completed=done_b)

    def finished(self, outcome: Outcome) -> None:
        if outcome.round_id in self._ids:
            self.bars.remove_task(self._ids.pop(outcome.round_id))
        super().finished(outcome)

    def say(self, text: str) -> None:
        self.bars.console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)


def current() -> Progress:
    """The progress display of this run; a quiet one where nobody watches."""
    return _current.get() or Progress()


@contextmanager
def shown(expected_b: Mapping[str, int], quiet: bool = False) -> Iterator[Progress]:
    """Show progress of what runs in the block, also in threads that copy its context."""
    from flows import logs

    if quiet:
        display = Progress()
    elif logs.is_json():
        display = logs.JsonLines(expected_b)
    else:
        display = Bars(expected_b) if sys.stderr.isatty() else Lines(expected_b)
    token = _current.set(display)
    try:
        if isinstance(display, Bars):
            with display.bars:
                yield display
        else:
            yield display
    finally:
        _current.reset(token)


def rate_text(done_b: int, expected_b: int | None, spent_s: float) -> str:
    """``120 of 250 MB, 85 MB/s, 2 s left``; without the total where it is not known."""
    rate = done_b / spent_s if spent_s > 0 else 0.0
    text = f"{done_b / _MB:,.0f}"
    if expected_b and expected_b >= done_b:
        text += f" of {expected_b / _MB:,.0f}"
    text += f" MB read, {rate / _MB:,.0f} MB/s"
    if expected_b and rate > 0 and expected_b >= done_b:
        text += f", {(expected_b - done_b) / rate:,.0f} s left"
    return text


def outcome_text(outcome: Outcome, spent_s: float | None = None) -> str:
    """One line on what became of a round."""
    if outcome.state == "failed":
        return f"{outcome.round_id}: FAILED: {outcome.message}"
    counts = outcome.counts
    text = (
        f"{outcome.round_id}: {outcome.state} {outcome.version_id}: "
        f"{counts.get('result', 0):,} results, {counts.get('quarantined', 0):,} set aside, "
        f"{counts.get('run', 0):,} runs, {counts.get('issue', 0):,} issues"
    )
    return text + (f" ({spent_s:.1f} s)" if spent_s is not None else "")
