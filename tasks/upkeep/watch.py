"""Ask a source which rounds it has and which changed; fetches nothing, changes nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from gpurank.answers.warehouse import NoData, ask, open_warehouse
from gpurank.declared.rounds import declared_rounds, round_order
from gpurank.operations import watch_record as watching
from gpurank.operations.watch_record import Finding
from gpurank.settings import Settings
from gpurank.store.versions import Manifest, Store, StoreError
from tasks.sources.resolve import available, is_remote
from tasks.sources.snapshot import (
    Snapshot,
    SourceError,
    SourceMissing,
    SourceRefused,
    SourceUnavailable,
)

# Waits before a question that failed is asked again.
RETRY_AFTER_S = (2.0, 10.0)
# Questions wait for the network; a source that has every round one asks for is no source.
_AT_ONCE = 8
_MOST_ROUNDS = 100


def look(settings: Settings) -> tuple[Finding, ...]:
    """One finding a round of the store and each that may be new, oldest first.

    A mirror is listed; a remote is asked for the rounds of the store, the declared ones and the
    names that may follow.

    Raises:
        SourceError: the source cannot be used at all, or names one round alone.
    """
    known = Store(settings.raw_dir).rounds()
    listed = available(settings.source)
    if listed is not None:
        here = _asked(listed, settings)
        gone = [_not_listed(name, settings) for name in known if name not in listed]
        return watching.trusted(sorted((*here, *gone), key=lambda item: round_order(item.round_id)))
    if settings.source is not None and "{round}" not in settings.source:
        raise SourceError(
            f"{settings.source} is one repository, not a place to find rounds in; write {{round}} "
            "where the round stands in its name, or give a mirror folder"
        )
    wanted = watching.names_to_ask(known, declared_rounds().declared)
    found: tuple[Finding, ...] = ()
    while wanted and len(found) < _MOST_ROUNDS:
        latest = _asked(wanted, settings)
        found += latest
        wanted = watching.names_after(latest, (item.round_id for item in found))
    names = {item.round_id: item for item in found}
    return watching.trusted([names[name] for name in watching.in_order(names)])


def is_stale(settings: Settings) -> bool:
    """Whether the warehouse is absent or built of other versions than the ones in use."""
    import duckdb

    store = Store(settings.raw_dir)
    wanted = {(name, item.version_id) for name in store.rounds() if (item := store.latest(name))}
    try:
        with open_warehouse(settings.warehouse_path) as con:
            held = set(ask(con, "select round_id, version_id from raw.round_version").rows)
    except (NoData, duckdb.Error):
        return bool(wanted)
    return held != wanted


def _asked(names: Sequence[str], settings: Settings) -> tuple[Finding, ...]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(pool.map(partial(_find, settings=settings), names))


def _not_listed(round_id: str, settings: Settings) -> Finding:
    return Finding(
        round_id, "absent", message=f"{settings.source} has no {round_id}; the store keeps its own"
    )


def _find(round_id: str, settings: Settings) -> Finding:
    """What the source says of one round; never raises for what the source does."""
    try:
        latest = Store(settings.raw_dir).latest(round_id)
    except StoreError as error:
        return Finding(round_id, "unanswered", message=str(error))
    known = None if latest is None else latest.source_commit
    try:
        snapshot = _pinned(round_id, settings.source)
    except SourceMissing as error:
        is_answer = not isinstance(error, SourceRefused) and not (
            latest is not None and is_remote(settings.source)
        )
        if is_answer:
            return Finding(round_id, "absent", None, known)
        return Finding(round_id, "unanswered", None, known, str(error))
    except SourceError as error:
        return Finding(round_id, "unanswered", None, known, str(error))
    if latest is None:
        return Finding(round_id, "new", snapshot.commit)
    state, message = _compared(snapshot, latest, settings)
    return Finding(round_id, state, snapshot.commit, known, message)


def _pinned(round_id: str, source: str | None) -> Snapshot:
    from tasks.sources.snapshot import pin

    for wait_s in RETRY_AFTER_S:
        try:
            return pin(round_id, source)
        except SourceUnavailable:
            time.sleep(wait_s)
    return pin(round_id, source)


def _compared(
    snapshot: Snapshot, latest: Manifest, settings: Settings
) -> tuple[watching.State, str | None]:
    """Whether a source's bytes, as this code reads them, are the version in use."""
    from gpurank.logs.round_tables import code_hash

    round_id, code = snapshot.round_id, code_hash(snapshot.round_id)
    read_before = Store(settings.raw_dir).known(round_id, snapshot.fingerprint, code)
    if read_before is not None and read_before.version_id == latest.version_id:
        return "unchanged", None
    is_same_commit = snapshot.commit is not None and snapshot.commit == latest.source_commit
    if not is_same_commit and snapshot.fingerprint != latest.fingerprint:
        return "changed", None
    if latest.form == "full" and latest.code_hash != code:
        return "changed", "same bytes; the version in use was read by other code"
    return "unchanged", None
