"""How old a data folder is: its newest round, the rounds that it lacks, the next one, the last
question to upstream.

Nothing here uses the network. What is published is known from ``warehouse/rounds.yml`` and from the
answers that the last watch got.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from gpurank.declared.rounds import Rounds, declared_rounds, round_order
from gpurank.operations import clock, watch_record
from gpurank.operations.watch_record import WatchRecord
from gpurank.settings import Settings
from gpurank.store.versions import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

State = Literal["held", "missing", "expected"]

_ASK = "gpurank watch --check"


@dataclass(frozen=True, slots=True)
class KnownRound:
    """A round that is held, or that is known from ``rounds.yml`` or from the last watch.

    ``state``: ``held``; ``missing`` (published and not held); ``expected`` (announced, and not
    known to be published). ``published_on``: None where the date is not known. ``expected_on``: an
    estimate for an expected round, else None.
    """

    round_id: str
    state: State
    published_on: date | None = None
    expected_on: date | None = None


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old a set of rounds is on a day.

    Attributes:
        today: the day.
        rounds: every held and every known round, oldest first.
        next_expected_on: when the first round after the newest published one is expected.
        asked_on: the day on which a watch of the data folder last asked upstream; None: never.
        command: what gets the missing rounds; empty where none is missing.
        held_back: rounds that are held and may not be shown yet, with the first day on which they
            may.
    """

    today: date
    rounds: tuple[KnownRound, ...]
    next_expected_on: date
    asked_on: date | None = None
    command: str = ""
    held_back: Mapping[str, date] = field(default_factory=dict)

    @property
    def newest(self) -> KnownRound | None:
        """The newest round that is held and may be shown; None: there is none."""
        shown = [
            known
            for known in self.rounds
            if known.state == "held" and known.round_id not in self.held_back
        ]
        return shown[-1] if shown else None

    @property
    def missing(self) -> tuple[KnownRound, ...]:
        """Rounds that are published and not held, oldest first."""
        return tuple(known for known in self.rounds if known.state == "missing")

    @property
    def newer_missing(self) -> tuple[KnownRound, ...]:
        """The missing rounds that are newer than every round that is held."""
        held = [round_order(known.round_id) for known in self.rounds if known.state == "held"]
        newest = max(held, default=(-1, 0))
        return tuple(known for known in self.missing if round_order(known.round_id) > newest)

    @property
    def expected(self) -> tuple[KnownRound, ...]:
        """Rounds that are announced and not known to be published, oldest first."""
        return tuple(known for known in self.rounds if known.state == "expected")

    @property
    def is_overdue(self) -> bool:
        """Whether a round should have been published since, and is not known to be."""
        return self.next_expected_on < self.today


def freshness_of(settings: Settings, today: date | None = None) -> Freshness:
    """Returns how old the store of a data folder is; ``today`` is by default the clock's day."""
    return assess(
        Store(settings.raw_dir).rounds(), watch_record.read(settings.watch_path), today=today
    )


def freshness_of_warehouse(
    con: DuckDBPyConnection,
    settings: Settings,
    today: date | None = None,
    held_back: Mapping[str, date] | None = None,
) -> Freshness:
    """Returns how old the rounds of a warehouse are, which is what an answer or page shows."""
    rows = con.execute("select distinct round_id from raw.round_version").fetchall()
    record = watch_record.read(settings.watch_path)
    return assess([str(row[0]) for row in rows], record, today=today, held_back=held_back)


def assess(
    held: Iterable[str],
    record: WatchRecord | None = None,
    *,
    rounds: Rounds | None = None,
    today: date | None = None,
    held_back: Mapping[str, date] | None = None,
) -> Freshness:
    """Returns how old a set of rounds is.

    Args:
        held: the names of the rounds.
        record: the last watch of the data folder; None: there was none.
        rounds: the declared rounds; by default those of the package.
        today: the day; by default the clock's.
        held_back: rounds that may not be shown yet, with the first day on which they may.
    """
    rounds, today = rounds or declared_rounds(), today or clock.today()
    in_use, seen = set(held), set(record.at_source if record else ())
    names = sorted({*in_use, *seen, *rounds.declared}, key=round_order)
    all_rounds = tuple(_known_round(name, in_use, seen, rounds, today) for name in names)
    missing = [known.round_id for known in all_rounds if known.state == "missing"]
    return Freshness(
        today=today,
        rounds=all_rounds,
        next_expected_on=rounds.next_round_expected_on(),
        asked_on=datetime.fromisoformat(record.finished_at).date() if record else None,
        command=_command(missing, rounds),
        held_back=dict(held_back or {}),
    )


def _known_round(
    round_id: str, in_use: set[str], seen: set[str], rounds: Rounds, today: date
) -> KnownRound:
    published_on = rounds.get(round_id).published_on
    if round_id in in_use:
        return KnownRound(round_id, "held", published_on)
    if round_id in seen or (published_on is not None and published_on <= today):
        return KnownRound(round_id, "missing", published_on)
    return KnownRound(round_id, "expected", None, rounds.expected_on(round_id))


def _command(missing: list[str], rounds: Rounds) -> str:
    """Returns the one command that gets these rounds."""
    if not missing:
        return ""
    if set(missing) <= _shipped_rounds():
        return "gpurank run"
    source = shlex.quote(rounds.document["repository_template"])
    return f"gpurank run --rounds {','.join(missing)} --source {source}"


@cache
def _shipped_rounds() -> frozenset[str]:
    """Returns the rounds whose facts ship with the package."""
    folder = files("warehouse").joinpath("facts")
    return frozenset(entry.name for entry in folder.iterdir()) if folder.is_dir() else frozenset()


def describe(freshness: Freshness, word: str = "held") -> tuple[str, ...]:
    """Returns how old the data are in sentences; ``word``: ``held`` or, of a report, ``shown``.

    The sentence on missing rounds has no command in it; :attr:`Freshness.command` is that.
    """
    return tuple(
        filter(
            None,
            (
                describe_newest(freshness, word),
                _held_back_sentence(freshness),
                _missing_sentence(freshness, word),
                describe_next(freshness),
                _asked_sentence(freshness),
            ),
        )
    )


def page_sentences(freshness: Freshness) -> tuple[str, ...]:
    """Returns how old a report is in sentences, with the day on which this was so.

    A page stays as it was written, so it says of which day it speaks.
    """
    day = f"As of {day_text(freshness.today)}:"
    return tuple(filter(None, (day, *describe(freshness, "shown"), _command_sentence(freshness))))


def footnotes(freshness: Freshness) -> tuple[str, ...]:
    """Returns two lines for below a table: what is held and missing, and what comes next."""
    held = (
        describe_newest(freshness, "held"),
        _missing_sentence(freshness, "held"),
        _command_sentence(freshness),
    )
    return (
        " ".join(filter(None, held)),
        f"{describe_next(freshness)} {_asked_sentence(freshness)}",
    )


def day_text(day: date) -> str:
    """Returns ``12 November 2025``."""
    return f"{day.day} {day:%B %Y}"


def describe_newest(freshness: Freshness, word: str = "held") -> str:
    """Returns which round is the newest one and when it was published."""
    newest = freshness.newest
    if newest is None:
        return f"No round is {word}."
    return f"Newest round {word}: {newest.round_id}, {_published(newest)}."


def _published(known: KnownRound) -> str:
    if known.published_on is None:
        return "whose date of publication is not known"
    return f"published on {day_text(known.published_on)}"


def _held_back_sentence(freshness: Freshness) -> str:
    days = [
        f"{name} until {day_text(day)}"
        for name, day in sorted(freshness.held_back.items(), key=lambda item: round_order(item[0]))
    ]
    return f"Held back until two weeks after publication: {', '.join(days)}." if days else ""


def _missing_sentence(freshness: Freshness, word: str) -> str:
    if not freshness.missing:
        if freshness.held_back:
            return ""
        return f"Every round that is known to be published is {word}."
    verb = "is" if len(freshness.missing) == 1 else "are"
    return f"{list_rounds(freshness.missing)} {verb} published and not {word}."


def list_rounds(rounds: Iterable[KnownRound]) -> str:
    """Returns ``v5.1 (12 November 2025) and v6.0 (16 June 2026)``."""
    texts = [f"{known.round_id} ({_day_or_unknown(known.published_on)})" for known in rounds]
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def _day_or_unknown(day: date | None) -> str:
    return day_text(day) if day else "date not known"


def _command_sentence(freshness: Freshness) -> str:
    if not freshness.command:
        return ""
    rounds = ", ".join(known.round_id for known in freshness.missing)
    return f"To get {rounds}: {freshness.command}"


def describe_next(freshness: Freshness) -> str:
    """Returns which rounds are announced or expected, and about when."""
    due_on = freshness.next_expected_on
    if not freshness.expected:
        if freshness.is_overdue:
            return (
                f"Another round was expected about {due_on:%B %Y}; this version of gpurank does "
                "not know it."
            )
        return f"The next round is expected about {due_on:%B %Y}."
    return " ".join(_expected_sentence(known, freshness.today) for known in freshness.expected)


def _expected_sentence(known: KnownRound, today: date) -> str:
    day = known.expected_on
    if day is None:
        return f"{known.round_id} is announced; its date of publication is not known."
    if day < today:
        return (
            f"{known.round_id} is announced and was expected about {day:%B %Y}; whether it is "
            "published is not known."
        )
    return f"{known.round_id} is announced and expected about {day:%B %Y}."


def _asked_sentence(freshness: Freshness) -> str:
    if freshness.asked_on is None:
        return f"Upstream was never asked for new rounds; `{_ASK}` asks."
    return f"Upstream was last asked on {day_text(freshness.asked_on)}; `{_ASK}` asks again."
