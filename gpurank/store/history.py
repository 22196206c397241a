"""When each version of a round was the valid one.

The store keeps a journal of what was published; a version's manifest says when its source got those
bytes. Everything here follows from the store's files alone: the same store has the same history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from gpurank.declared.rounds import declared_rounds
from gpurank.settings import SettingsError
from gpurank.store.versions import Manifest, Store, StoreError


@dataclass(frozen=True, slots=True)
class Publication:
    """One version, from the moment when it came into use.

    ``valid_from`` is when the source got those bytes: the time of its commit. If that is unknown,
    a round's first version is valid from the round's publication (None if that is not declared)
    and a later one from when it was published here. Times are UTC.
    """

    manifest: Manifest
    valid_from: datetime | None
    published_at: datetime

    @property
    def known_from(self) -> datetime:
        """When this version became valid, or else when it was published here."""
        return self.valid_from or self.published_at


def publications(store: Store, round_id: str) -> tuple[Publication, ...]:
    """Returns every publication of a round that is still in the store, oldest first.

    Raises:
        StoreError: the version in use is missing.
    """
    latest = store.latest(round_id)
    if latest is None:
        return ()
    complete = {
        item.version_id: item for item in store.versions(round_id) if item.state == "complete"
    }
    entries = [(name, at) for name, at in store.journal(round_id) if name in complete]
    noted = {name for name, _ in entries}
    if latest.version_id not in noted:
        # A store older than the journal, or a run that crashed between journal and pointer.
        earlier = [i for i in complete.values() if i.version_id not in noted | {latest.version_id}]
        entries = [(i.version_id, i.taken_at) for i in earlier if not noted] + entries
        entries.append((latest.version_id, latest.taken_at))
    last = max(place for place, (name, _) in enumerate(entries) if name == latest.version_id)
    history: list[Publication] = []
    for name, at in entries[: last + 1]:
        history.append(_publication(complete[name], at, history))
    return tuple(history)


def valid_at(known: Sequence[Publication], when: datetime) -> Publication | None:
    """Returns the publication that was valid at a moment; None if none was."""
    fitting = [item for item in known if item.known_from <= when]
    return fitting[-1] if fitting else None


def last_two(known: Sequence[Publication]) -> tuple[Publication, Publication] | None:
    """Returns the newest publication and the last one before it with other bytes; None if none."""
    for item in reversed(known[:-1]):
        if item.manifest.content_hash != known[-1].manifest.content_hash:
            return item, known[-1]
    return None


def find(known: Iterable[Manifest], text: str) -> Manifest:
    """Returns the version whose id or commit starts with a text.

    Raises:
        StoreError: no version does, or more than one.
    """
    versions = {item.version_id: item for item in known if item.state == "complete"}
    fitting = [
        item
        for name, item in versions.items()
        if text and (name.startswith(text) or (item.source_commit or "").startswith(text))
    ]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(f"{name} ({item.source_commit})" for name, item in versions.items())
    what = "more than one version starts" if fitting else "no version starts"
    raise StoreError(f"{what} with {text!r}; there are {names or 'none'}")


def moment(text: str) -> datetime:
    """Returns the moment of a date with a time, or the end of a date (UTC).

    Raises:
        SettingsError: the text is neither.
    """
    try:
        if len(text) == len("2026-01-31"):
            return datetime.combine(date.fromisoformat(text), time.max, UTC)
        return _utc(datetime.fromisoformat(text))
    except ValueError:
        raise SettingsError(
            f"{text!r} is not a date; write it as 2026-01-31 or 2026-01-31T12:00:00+00:00"
        ) from None


def _publication(manifest: Manifest, published: str, before: Sequence[Publication]) -> Publication:
    at, dated = _utc(datetime.fromisoformat(published)), manifest.source_date
    known = _utc(datetime.fromisoformat(dated)) if dated else None
    if not before:
        if known is None and (day := declared_rounds().get(manifest.round_id).published_on):
            known = datetime.combine(day, time.min, UTC)
        return Publication(manifest, known, at)
    # Bytes that came back, or a rewritten branch, are older than what they replace.
    is_late = known is not None and known > before[-1].known_from
    return Publication(manifest, known if is_late else at, at)


def _utc(when: datetime) -> datetime:
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
