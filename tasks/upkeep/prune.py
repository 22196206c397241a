"""Removes versions that nobody needs any more. Call it under the run lock."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from gpurank.answers.warehouse import Answer, NoData, loaded_versions, open_warehouse
from gpurank.settings import Settings
from gpurank.store import remote
from gpurank.store.history import publications
from gpurank.store.versions import Manifest, Store

_GRACE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pruned:
    """A version that was removed or would be, and its size in bytes."""

    round_id: str
    version_id: str
    state: str
    byte_count: int


def candidates(settings: Settings, keep: int) -> tuple[Pruned, ...]:
    """Returns the versions beyond the newest ``keep`` published ones of each round.

    Never the version in use, and never one that the warehouse was built from. A failed version
    is among them once a later one is in use. On object storage a version also stays for a day
    after it was replaced, because another machine may be fetching it.
    """
    store, held = Store(settings.raw_dir), _held(settings)
    grace_from = datetime.now(UTC) - (_GRACE if settings.remote else timedelta())
    obsolete = []
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
                obsolete.append(_pruned(store, item))
    return tuple(obsolete)


def remove(settings: Settings, chosen: tuple[Pruned, ...]) -> None:
    """Removes whole versions (renamed first) and the stored warehouses of the past.

    Object storage comes first, because others read there; a run that crashes can be repeated.
    """
    store = Store(settings.raw_dir)
    for item in chosen:
        remote.remove(settings, item.round_id, item.version_id)
        folder = store.folder(item.round_id, item.version_id)
        renamed = folder.with_name(f".building-pruned-{uuid.uuid4().hex[:8]}")
        folder.rename(renamed)
        shutil.rmtree(renamed)
    shutil.rmtree(settings.as_of_dir, ignore_errors=True)


def answer(chosen: tuple[Pruned, ...], is_dry: bool) -> Answer:
    """Returns what was removed, as rows."""
    rows = tuple((i.round_id, i.version_id, i.state, i.byte_count) for i in chosen)
    total = sum(item.byte_count for item in chosen) / 1e6
    title = f"{len(rows)} versions {'would be' if is_dry else 'were'} removed, {total:,.1f} MB"
    columns = ("round_id", "version_id", "state", "byte_count")
    return Answer(columns, rows, ("VARCHAR", "VARCHAR", "VARCHAR", "BIGINT"), title)


def _is_over(item: Manifest, latest: Manifest | None) -> bool:
    """Returns whether a version is obsolete; a failed one only once a later one is in use."""
    if latest is None:
        return False
    return item.state == "complete" or item.taken_at <= latest.taken_at


def _pruned(store: Store, item: Manifest) -> Pruned:
    folder = store.folder(item.round_id, item.version_id)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return Pruned(item.round_id, item.version_id, item.state, size)


def _held(settings: Settings) -> Mapping[str, str]:
    """Returns the version of each round in the warehouse.

    Raises:
        NoData: the warehouse is unreadable or names no version; nothing may be pruned then.
    """
    if not settings.warehouse_path.exists():
        return {}
    with open_warehouse(settings.warehouse_path) as con:
        versions = loaded_versions(con)
    if not versions:
        raise NoData(
            f"{settings.warehouse_path} names no version; `gpurank analyze` builds it anew"
        )
    return versions
