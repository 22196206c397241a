"""How fresh a data folder is: age of the last watch, rounds not in use, stale warehouse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from gpurank.operations import watch_record as watching
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

    ``published`` holds the version of each round that the warehouse was built from. A watch
    older than ``max_age_days`` is ``bad``; without that limit it is only a ``note``.
    """
    yield from _watch(settings, max_age_days)
    yield from _stale(settings, published)


def _watch(settings: Settings, max_age_days: float | None) -> Iterator[Row]:
    worse = "note" if max_age_days is None else "bad"
    record = watching.read(settings.watch_path)
    if record is None:
        yield ("last watch", worse, "never; `gpurank watch` looks for new and corrected rounds")
        return
    now = datetime.now(UTC)
    days = record.age_s(now) / _DAY_S
    if datetime.fromisoformat(record.finished_at) > now:
        yield ("clock", "note", f"the last watch ended in the future, {record.finished_at}")
    limit = EXPECTED_DAYS if max_age_days is None else max_age_days
    state = "good" if days <= limit else worse
    yield ("last watch", state, f"{days:.1f} days ago, {record.finished_at}, run {record.run_id}")
    if record.unanswered:
        yield ("not answered", "note", f"{', '.join(record.unanswered)}; run the watch again")
    behind = ", ".join(record.behind)
    yield ("rounds behind", "note" if behind else "good", behind or "none")


def _stale(settings: Settings, published: Mapping[str, str]) -> Iterator[Row]:
    store = Store(settings.raw_dir)
    try:
        held = {name: item.version_id for name in store.rounds() if (item := store.latest(name))}
    except StoreError:
        return
    other = [name for name, version in held.items() if published.get(name) != version]
    if held and published:
        found = f"built from other versions of {', '.join(other)}; `gpurank analyze`"
        yield ("warehouse age", "note" if other else "good", found if other else "up to date")
