"""What `gpurank doctor` says of age: missing rounds, the last watch, a stale warehouse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from gpurank.operations import clock, watch_record
from gpurank.operations.freshness import (
    Freshness,
    day_text,
    describe_newest,
    describe_next,
    freshness_of,
    list_rounds,
)
from gpurank.settings import Settings
from gpurank.store.versions import Store, StoreError

# A watch runs weekly; two days of grace for a machine that was off.
EXPECTED_DAYS = 9.0
_DAY_S = 86_400.0

Row = tuple[str, str, str]


def rows(
    settings: Settings, published: Mapping[str, str], max_age_days: float | None = None
) -> Iterator[Row]:
    """Yields rows of (subject, state, finding), as gpurank.operations.health.examine.

    ``published`` holds the version of each round that the warehouse was built from. A missing
    round is ``behind``. With ``max_age_days``, these are ``bad``: a watch that is older, and a
    round that was published longer ago and is newer than every round that is held.
    """
    yield from _rounds(settings, max_age_days)
    yield from _watch(settings, max_age_days)
    yield from _stale(settings, published)


def _rounds(settings: Settings, max_age_days: float | None) -> Iterator[Row]:
    freshness = freshness_of(settings)
    if freshness.newest is None:
        return  # The check of the store says that there is no round yet.
    state = _state(freshness, max_age_days)
    yield ("newest round", state if freshness.newer_missing else "good", describe_newest(freshness))
    if freshness.missing:
        text = f"{list_rounds(freshness.missing)}; get them: {freshness.command}"
        yield ("published, not held", state, text)
    else:
        yield ("published, not held", "good", "none that this version of gpurank knows of")
    is_late = freshness.is_overdue and not freshness.newer_missing
    yield ("next round", "note" if is_late else "good", describe_next(freshness))


def _state(freshness: Freshness, max_age_days: float | None) -> str:
    if max_age_days is None:
        return "behind"
    too_old = any(
        known.published_on is None or (freshness.today - known.published_on).days > max_age_days
        for known in freshness.newer_missing
    )
    return "bad" if too_old else "behind"


def _watch(settings: Settings, max_age_days: float | None) -> Iterator[Row]:
    worse = "note" if max_age_days is None else "bad"
    record = watch_record.read(settings.watch_path)
    if record is None:
        yield (
            "last watch",
            worse,
            "upstream was never asked; `gpurank watch` looks for new and corrected rounds, with "
            "--check it only asks",
        )
        return
    now = clock.now()
    days = record.age_s(now) / _DAY_S
    ended = datetime.fromisoformat(record.finished_at)
    if ended > now:
        yield ("clock", "note", f"the last watch ended in the future, {record.finished_at}")
    limit = EXPECTED_DAYS if max_age_days is None else max_age_days
    state = "good" if days <= limit else worse
    found = f"upstream was last asked on {day_text(ended.date())}, {days:.1f} days ago"
    yield ("last watch", state, f"{found}, run {record.run_id}")
    if record.unanswered:
        yield ("not answered", "note", f"{', '.join(record.unanswered)}; run the watch again")
    if record.behind:
        text = f"{', '.join(record.behind)}: seen upstream and not in use; run the watch again"
        yield ("new bytes", "behind", text)


def _stale(settings: Settings, published: Mapping[str, str]) -> Iterator[Row]:
    store = Store(settings.raw_dir)
    try:
        held = {name: item.version_id for name in store.rounds() if (item := store.latest(name))}
    except StoreError:
        return
    other = [name for name, version in held.items() if published.get(name) != version]
    if held and published:
        found = f"built from other versions of {', '.join(other)}; `gpurank analyze`"
        built = "built from the versions in use"
        yield ("warehouse age", "note" if other else "good", found if other else built)
