"""What a watch asks and what it found: names of rounds to look for, findings, the last record.

A finding is about one round at the source. Only an answer says that a round is not there; a
question that failed says nothing, so nothing is ever withdrawn for it.
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


@dataclass(frozen=True, slots=True)
class Finding:
    """What the source answered for one round.

    ``state``: ``new`` (there, not in the store), ``changed`` (other bytes than the version in
    use, or read by other code), ``unchanged``, ``absent`` (the source says that it has no such
    round; what the store holds of it stays), ``unanswered`` (the question failed).
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
        """Rounds whose new bytes were seen and are not in use yet."""
        return tuple(
            item.round_id
            for item in self.findings
            if item.state in TO_INGEST and item.round_id not in self.ingested
        )

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Rounds about which nothing could be learned."""
        return tuple(item.round_id for item in self.findings if item.state == "unanswered")

    def age_s(self, now: datetime | None = None) -> float:
        """Seconds since the watch ended; 0 where the clock was set back."""
        ended = datetime.fromisoformat(self.finished_at)
        return max(0.0, ((now or datetime.now(UTC)) - ended).total_seconds())


def successors(round_id: str) -> tuple[str, ...]:
    """The next plausible names: two further rounds of the same major number, two of the next.

    Rounds came twice a year (vX.0, vX.1), once three in a major number (v0.5 to v0.7).
    """
    major, minor = round_order(round_id)
    return (
        f"v{major}.{minor + 1}",
        f"v{major}.{minor + 2}",
        f"v{major + 1}.0",
        f"v{major + 1}.1",
    )


def names_to_ask(known: Sequence[str], declared: Sequence[str]) -> tuple[str, ...]:
    """Rounds to ask a source for that cannot be listed, oldest first.

    What the store holds, what is declared and not older than the oldest held, and the names that
    may follow the newest held and the newest declared. With an empty store, all that is declared.
    """
    oldest = min(known or declared, key=round_order)
    fitting = {name for name in declared if round_order(name) >= round_order(oldest)}
    ends = [max(names, key=round_order) for names in (known, declared) if names]
    following = {name for end in ends for name in successors(end)}
    later = {name for name in following if round_order(name) > round_order(oldest)}
    return in_order({*known, *fitting, *later})


def names_after(found: Iterable[Finding], asked: Iterable[str]) -> tuple[str, ...]:
    """Names that may follow rounds just found and were not asked for yet."""
    there = [item.round_id for item in found if item.state == "new"]
    return in_order({name for held in there for name in successors(held)} - set(asked))


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Round names, oldest first, each once."""
    return tuple(sorted(set(names), key=round_order))


def trusted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings of a remote source; where no question at all was answered well, none says "absent".

    A host that is misconfigured or refuses everything answers like one that has nothing.
    """
    if any(item.state in ("new", "changed", "unchanged") for item in findings):
        return tuple(findings)
    silent = "the source answered for no round at all"
    return tuple(
        Finding(item.round_id, "unanswered", None, item.known_commit, item.message or silent)
        for item in findings
    )


def answer(findings: Sequence[Finding]) -> Answer:
    """Findings as rows for people and machines."""
    columns = ("round_id", "state", "commit", "known_commit", "message")
    rows = tuple(tuple(asdict(item)[name] for name in columns) for item in findings)
    return Answer(columns, rows, ("VARCHAR",) * len(columns), "rounds at the source")


def write(path: Path, record: WatchRecord) -> None:
    """Keep the record of the last watch."""
    write_durably(path, json.dumps(asdict(record), indent=1, sort_keys=True) + "\n")


def read(path: Path) -> WatchRecord | None:
    """The record of the last watch; None where there was none or it is unreadable."""
    try:
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        findings = tuple(Finding(**item) for item in row.pop("findings"))
        record = WatchRecord(findings=findings, **row)
        record.age_s()
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return record
