"""Errors of a whole run, raised after its other parts are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpurank.errors import Exit, SeveralFailures

if TYPE_CHECKING:
    from gpurank.operations.watch_record import WatchRecord
    from tasks.ingest.round import IngestResult


class RoundsFailed(SeveralFailures, RuntimeError):
    """Some rounds failed; the others are complete."""

    def __init__(self, outcomes: Sequence[IngestResult]) -> None:
        self.outcomes = tuple(outcomes)
        failures = [outcome for outcome in outcomes if outcome.state == "failed"]
        self.is_total = len(failures) == len(self.outcomes)
        self.exit_code = Exit(failures[0].exit_code) if self.is_total else Exit.SOME_ROUNDS_FAILED
        lines = "\n".join(f"  {failure.round_id}: {failure.message}" for failure in failures)
        state = "nothing was changed" if self.is_total else "the others are complete"
        super().__init__(
            f"{len(failures)} of {len(self.outcomes)} rounds failed; {state}\n{lines}"
            if len(self.outcomes) > 1
            else f"{failures[0].message}"
        )


class WatchIncomplete(SeveralFailures, RuntimeError):
    """Some sources did not answer a watch; the data of those that did are up to date."""

    def __init__(self, record: WatchRecord) -> None:
        unanswered = [finding for finding in record.findings if finding.state == "unanswered"]
        is_total = len(unanswered) == len(record.findings)
        self.exit_code = Exit.SOURCE if is_total else Exit.SOME_ROUNDS_FAILED
        lines = "\n".join(f"  {finding.round_id}: {finding.message}" for finding in unanswered)
        super().__init__(
            f"{len(unanswered)} of {len(record.findings)} rounds were not answered by their "
            f"source; nothing was withdrawn because of it, run again later\n{lines}"
        )
