"""Progress of a run on stderr: bars on a terminal, lines elsewhere, JSON lines where asked for."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from flows import logs
from flows.console import current_console
from gpurank.terminal_safety import say, visible

if TYPE_CHECKING:
    from tasks.ingest.round import IngestResult

_LINE_EVERY_S = 5.0
_MB = 1_000_000


class Progress:
    """The base class shows nothing. Methods may be called from several threads."""

    def show_reading(self, round_id: str, done_b: int, files: int) -> None:
        """Show how many bytes and files of a round have been read so far."""

    def show_result(self, result: IngestResult) -> None:
        """Show that a round is done, or that it failed."""

    def say(self, text: str) -> None:
        """Show one line about the run."""


class Lines(Progress):
    """One line every few seconds and one at the end of each round; for logs and pipes."""

    def __init__(self, expected_b: Mapping[str, int]) -> None:
        self._expected = expected_b
        self._started: dict[str, float] = {}
        self._shown_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def show_reading(self, round_id: str, done_b: int, files: int) -> None:
        now = time.monotonic()
        started = self._started.setdefault(round_id, now)
        if now - self._shown_at.setdefault(round_id, now) >= _LINE_EVERY_S:
            self._shown_at[round_id] = now
            self.say(
                f"{round_id}: {rate_text(done_b, self._expected.get(round_id), now - started)}"
            )

    def show_result(self, result: IngestResult) -> None:
        started = self._started.pop(result.round_id, None)
        spent = None if started is None else time.monotonic() - started
        self.say(result_text(result, spent))

    def say(self, text: str) -> None:
        with self._lock:
            say(text, sys.stderr)


class Bars(Lines):
    """One bar per round, with rate and remaining time; for terminals."""

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

    def show_reading(self, round_id: str, done_b: int, files: int) -> None:
        self._started.setdefault(round_id, time.monotonic())
        if round_id not in self._ids:
            total = self._expected.get(round_id)
            self._ids[round_id] = self.bars.add_task(round_id, total=total)
        self.bars.update(self._ids[round_id], completed=done_b)

    def show_result(self, result: IngestResult) -> None:
        if result.round_id in self._ids:
            self.bars.remove_task(self._ids.pop(result.round_id))
        super().show_result(result)

    def say(self, text: str) -> None:
        self.bars.console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


class JsonLines(Lines):
    """The same lines as JSON objects; for machines that collect logs."""

    def show_result(self, result: IngestResult) -> None:
        logs.write(
            "error" if result.state == "failed" else "info",
            result.message or f"{result.round_id} {result.state}",
            event="round",
            round_id=result.round_id,
            state=result.state,
            version_id=result.version_id,
            source_commit=result.commit,
            counts=result.counts,
        )

    def say(self, text: str) -> None:
        logs.write("info", text)


_current: ContextVar[Progress | None] = ContextVar("progress", default=None)


def current() -> Progress:
    """Returns the progress display of this run; one that shows nothing where there is none."""
    return _current.get() or Progress()


@contextmanager
def display(expected_b: Mapping[str, int]) -> Iterator[Progress]:
    """Show progress of what runs in the block, also in threads that copy its context.

    Args:
        expected_b: bytes of each round, where they are known.
    """
    console = current_console()
    shown: Progress
    if console.is_quiet:
        shown = Progress()
    elif console.is_json:
        shown = JsonLines(expected_b)
    else:
        shown = Bars(expected_b) if sys.stderr.isatty() else Lines(expected_b)
    token = _current.set(shown)
    try:
        if isinstance(shown, Bars):
            with shown.bars:
                yield shown
        else:
            yield shown
    finally:
        _current.reset(token)


def rate_text(done_b: int, expected_b: int | None, spent_s: float) -> str:
    """Returns ``120 of 250 MB read, 85 MB/s, 2 s left``; without the total where it is unknown."""
    rate = done_b / spent_s if spent_s > 0 else 0.0
    text = f"{done_b / _MB:,.0f}"
    if expected_b and expected_b >= done_b:
        text += f" of {expected_b / _MB:,.0f}"
    text += f" MB read, {rate / _MB:,.0f} MB/s"
    if expected_b and rate > 0 and expected_b >= done_b:
        text += f", {(expected_b - done_b) / rate:,.0f} s left"
    return text


def result_text(result: IngestResult, spent_s: float | None = None) -> str:
    """Returns one line on the result of ingesting a round."""
    if result.state == "failed":
        return f"{result.round_id}: FAILED: {result.message}"
    counts = result.counts
    text = (
        f"{result.round_id}: {result.state} {result.version_id}: "
        f"{counts.get('result', 0):,} results, {counts.get('quarantined', 0):,} quarantined, "
        f"{counts.get('run', 0):,} runs, {counts.get('issue', 0):,} issues"
    )
    return text + (f" ({spent_s:.1f} s)" if spent_s is not None else "")


def count_text(results: Sequence[IngestResult]) -> str:
    """Returns how many rounds there are of each state, for example ``9 rounds: 9 unchanged``."""
    counts = Counter(result.state for result in results)
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return f"{len(results)} rounds: {states}"
