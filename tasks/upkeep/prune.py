"""Retention: remove versions that nobody needs any more. Call under the run lock."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from gpurank.answers.warehouse import Answer, NoData, ask, open_warehouse
from gpurank.settings import Settings
from gpurank.store import remote
from gpurank.store.history import publications
from gpurank.store.versions import Manifest, Store

_GRACE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pruned:
    """A version that was removed, or would be, and the bytes it took."""

    round_id: str
    version_id: str
    state: str
    byte_count: int


def candidates(settings: Settings, keep: int) -> tuple[Pruned, ...]:
    """Versions beyond the newest ``keep`` published ones of each round.

    Never the version in use, and never one that the warehouse was built of. Failed versions go
    once a later one is in use. On object storage a version also stays for a day after it was
    replaced: another machine may be fetching it.
    """
    store, held = Store(settings.raw_dir), _held(settings)
    grace_from = datetime.now(UTC) - (_GRACE if settings.remote else timedelta())
    found = []
    for round_id in store.rounds():
        known = publications(store, round_id)
        newest = list(dict.fromkeys(item.manifest.version_id for item in reversed(known)))
        recent = {
            item.manifest.version_id
            for item, following in pairwise(known)
            if following.known_from > grace_from
        }
        needed = {*newest[: max(keep, 1)], held.get(round_id), *(recent if settings.remote else ())}
        latest = store.latest(round_id)
        for item in store.versions(round_id):
            if item.version_id not in needed and _is_over(item, latest):
                found.append(_pruned(store, item))
    return tuple(found)


def remove(settings: Settings, chosen: tuple[Pruned, ...]) -> None:
    """Remove versions whole (renamed first), and the kept warehouses of the past.

    From object storage first, where others look: a run that dies can be run again.
    """
    store = Store(settings.raw_dir)
    for item in chosen:
        remote.remove(settings, item.round_id, item.version_id)
        folder = store.folder(item.round_id, item.version_id)
        doomed = folder.with_name(f".building-pruned-{uuid.uuid4().hex[:8]}")
        folder.rename(doomed)
        shutil.rmtree(doomed)
    shutil.rmtree(settings.as_of_dir, ignore_errors=True)


def answer(chosen: tuple[Pruned, ...], is_dry: bool) -> Answer:
    """What was removed, as rows."""
    rows = tuple((i.round_id, i.version_id, i.state, i.byte_count) for i in chosen)
    total = sum(item.byte_count for item in chosen) / 1e6
    title = f"{len(rows)} versions {'would be' if is_dry else 'were'} removed, {total:,.1f} MB"
    columns = ("round_id", "version_id", "state", "byte_count")
    return Answer(columns, rows, ("VARCHAR", "VARCHAR", "VARCHAR", "BIGINT"), title)


def _is_over(item: Manifest, latest: Manifest | None) -> bool:
    """A version that was never published goes only when it failed and something newer is in use."""
    if latest is None:
        return False
    return item.state == "complete" or item.taken_at <= latest.taken_at


def _pruned(store: Store, item: Manifest) -> Pruned:
    folder = store.folder(item.round_id, item.version_id)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return Pruned(item.round_id, item.version_id, item.state, size)


def _held(settings: Settings) -> Mapping[str, str]:
    """Versions that the warehouse was built of; an unreadable one forbids pruning at all."""
    if not settings.warehouse_path.exists():
        return {}
    with open_warehouse(settings.warehouse_path) as con:
        rows = ask(con, "select round_id, version_id from raw.round_version").rows
    if not rows:
        raise NoData(
            f"{settings.warehouse_path} names no version; `gpurank analyze` builds it anew"
        )
    return {str(name): str(version) for name, version in rows}
