"""What a watch asks for and what it found: names of rounds, findings, the record of the last watch.

A finding is about one round at the source. Only an answer can say that a round does not exist; a
request that failed says nothing, so nothing is ever withdrawn because of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from gpurank.answers.warehouse import Answer
from gpurank.declared.rounds import round_order
from gpurank.store.versions import write_durably

State = Literal["new", "changed", "unchanged", "absent", "unanswered"]
TO_INGEST = ("new", "changed")
AT_SOURCE = (*TO_INGEST, "unchanged")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the source answered for one round.

    ``state``: ``new`` (at the source, not in the store), ``changed`` (other bytes than the
    version in use, or read by other code), ``unchanged``, ``absent`` (the source says that it has
    no such round; the store keeps its version), ``unanswered`` (the request failed).
    """

    round_id: str
    state: State
    commit: str | None = None
    known_commit: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class WatchRecord:
    """The last watch of a data folder, as ``watch.json`` keeps it. Times are UTC, ISO."""

    started_at: str
    finished_at: str
    run_id: str
    is_complete: bool
    findings: tuple[Finding, ...] = ()
    ingested: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def behind(self) -> tuple[str, ...]:
        """Rounds whose new bytes were seen but are not in use yet."""
        return tuple(
            item.round_id
            for item in self.findings
            if item.state in TO_INGEST and item.round_id not in self.ingested
        )

    @property
    def at_source(self) -> tuple[str, ...]:
        """Rounds that the source has."""
        return tuple(item.round_id for item in self.findings if item.state in AT_SOURCE)

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Rounds for which the source did not answer."""
        return tuple(item.round_id for item in self.findings if item.state == "unanswered")

    def age_s(self, now: datetime | None = None) -> float:
        """Returns the seconds since the watch ended; 0 if the clock was set back."""
        ended = datetime.fromisoformat(self.finished_at)
        return max(0.0, ((now or datetime.now(UTC)) - ended).total_seconds())


def successors(round_id: str) -> tuple[str, ...]:
    """Returns the next plausible names: two more of the same major number, two of the next.

    Rounds came twice a year (vX.0, vX.1); one major number had three (v0.5 to v0.7).
    """
    major, minor = round_order(round_id)
    return (
        f"v{major}.{minor + 1}",
        f"v{major}.{minor + 2}",
        f"v{major + 1}.0",
        f"v{major + 1}.1",
    )


def names_to_ask(known: Sequence[str], declared: Sequence[str]) -> tuple[str, ...]:
    """Returns the rounds to ask a source for that cannot be listed, oldest first.

    These are the rounds in the store, the declared ones not older than the oldest of these, and
    the names that may follow the newest of both. With an empty store, all declared rounds.
    """
    oldest = min(known or declared, key=round_order)
    fitting = {name for name in declared if round_order(name) >= round_order(oldest)}
    ends = [max(names, key=round_order) for names in (known, declared) if names]
    following = {name for end in ends for name in successors(end)}
    later = {name for name in following if round_order(name) > round_order(oldest)}
    return in_order({*known, *fitting, *later})


def names_after(findings: Iterable[Finding], asked: Iterable[str]) -> tuple[str, ...]:
    """Returns names that may follow newly found rounds and were not asked for yet."""
    new = [item.round_id for item in findings if item.state == "new"]
    return in_order({name for round_id in new for name in successors(round_id)} - set(asked))


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Returns round names without duplicates, oldest first."""
    return tuple(sorted(set(names), key=round_order))


def trusted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Returns the findings of a remote source; "absent" only if some request found a round.

    A host that is misconfigured or denies everything answers like one without any round.
    """
    if any(item.state in AT_SOURCE for item in findings):
        return tuple(findings)
    silent = "the source answered for no round at all"
    return tuple(
        Finding(item.round_id, "unanswered", None, item.known_commit, item.message or silent)
        for item in findings
    )


def answer(findings: Sequence[Finding]) -> Answer:
    """Returns findings as rows."""
    columns = ("round_id", "state", "commit", "known_commit", "message")
    rows = tuple(tuple(asdict(item)[name] for name in columns) for item in findings)
    return Answer(columns, rows, ("VARCHAR",) * len(columns), "rounds at the source")


def write(path: Path, record: WatchRecord) -> None:
    """Writes the record of a watch."""
    write_durably(path, json.dumps(asdict(record), indent=1, sort_keys=True) + "\n")


def read(path: Path) -> WatchRecord | None:
    """Reads the record of the last watch; None if there was none or it is unreadable."""
    try:
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        findings = tuple(Finding(**item) for item in row.pop("findings"))
        record = WatchRecord(findings=findings, **row)
        record.age_s()
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return record
