"""Ask a source which rounds it has and which of them changed; fetches and changes nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from gpurank.answers.warehouse import published_versions
from gpurank.declared.rounds import declared_rounds, round_order
from gpurank.operations import watch_record
from gpurank.operations.watch_record import Finding, WatchRecord
from gpurank.settings import Settings
from gpurank.store.versions import Manifest, Store, StoreError, now
from tasks.ingest.round import IngestResult
from tasks.sources.base import lacks_files
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
# Questions mostly wait for the network, so that several are asked at once.
_CONCURRENT_QUESTIONS = 8
# A source that answers for every name that it is asked for is not one of rounds.
_MOST_ROUNDS = 100


def look(settings: Settings) -> tuple[Finding, ...]:
    """Returns one finding per round of the store and per round that may be new, oldest first.

    A mirror is listed. A remote is asked for the rounds of the store, the declared ones and the
    names that may follow.

    Raises:
        SourceError: the source cannot be used at all, or is the repository of a single round.
    """
    stored = Store(settings.raw_dir).rounds()
    listed = available(settings.source)
    if listed is not None:
        present = _ask_about(listed, settings)
        missing = [_not_listed(round_id, settings) for round_id in stored if round_id not in listed]
        findings = sorted((*present, *missing), key=lambda item: round_order(item.round_id))
        return watch_record.trusted(findings)
    if settings.source is not None and "{round}" not in settings.source:
        raise SourceError(
            f"{settings.source} is one repository, not a place to find rounds in; write {{round}} "
            "where the round stands in its name, or give a mirror folder"
        )
    wanted = watch_record.names_to_ask(stored, declared_rounds().declared)
    by_round: dict[str, Finding] = {}
    while wanted and len(by_round) < _MOST_ROUNDS:
        latest = _ask_about(wanted, settings)
        by_round |= {finding.round_id: finding for finding in latest}
        wanted = watch_record.names_after(latest, by_round)
    return watch_record.trusted([by_round[name] for name in watch_record.in_order(by_round)])


def is_stale(settings: Settings) -> bool:
    """Returns whether the warehouse is missing or built from other versions than those in use."""
    store = Store(settings.raw_dir)
    in_use = {
        (round_id, version.version_id)
        for round_id in store.rounds()
        if (version := store.latest(round_id))
    }
    return set(published_versions(settings.warehouse_path).items()) != in_use


def make_record(
    started_at: str,
    findings: Sequence[Finding],
    results: Sequence[IngestResult],
    settings: Settings,
) -> WatchRecord:
    """Returns the record of a watch: what the source answered, and what became of each round.

    It is complete where every question was answered and every round that was found is ingested.
    """
    ingested = {item.round_id: item.version_id or "" for item in results if item.state != "failed"}
    failed = {item.round_id: item.message or "" for item in results if item.state == "failed"}
    is_complete = not failed and all(finding.state != "unanswered" for finding in findings)
    return WatchRecord(
        started_at=started_at,
        finished_at=now(),
        run_id=settings.run_id,
        is_complete=is_complete,
        findings=tuple(findings),
        ingested=ingested,
        failed=failed,
    )


def is_source_unchanged(round_ids: Sequence[str], settings: Settings) -> bool:
    """Returns whether a source holds just what the version in use of each round was read from.

    Compares fingerprints, as ingesting does first. False as well where the source does not
    answer: ingesting then reports why.
    """
    with ThreadPoolExecutor(_CONCURRENT_QUESTIONS) as pool:
        return all(pool.map(partial(_is_round_unchanged, settings=settings), round_ids))


def _is_round_unchanged(round_id: str, settings: Settings) -> bool:
    from gpurank.logs.round_tables import code_hash
    from tasks.sources.snapshot import pin

    store = Store(settings.raw_dir)
    latest = store.latest(round_id)
    if latest is None:
        return False
    try:
        fingerprint = pin(round_id, settings.source, settings.accept_missing).fingerprint
    except SourceError:
        return False
    read_before = store.known(round_id, fingerprint, code_hash(round_id))
    return read_before is not None and read_before.version_id == latest.version_id


def _ask_about(round_ids: Sequence[str], settings: Settings) -> tuple[Finding, ...]:
    with ThreadPoolExecutor(_CONCURRENT_QUESTIONS) as pool:
        return tuple(pool.map(partial(_find, settings=settings), round_ids))


def _not_listed(round_id: str, settings: Settings) -> Finding:
    return Finding(
        round_id, "absent", message=f"{settings.source} has no {round_id}; the store keeps its own"
    )


def _find(round_id: str, settings: Settings) -> Finding:
    """Returns what the source says of one round; a failing source is a finding, not an error."""
    try:
        latest = Store(settings.raw_dir).latest(round_id)
    except StoreError as error:
        return Finding(round_id, "unanswered", message=str(error))
    known = None if latest is None else latest.source_commit
    try:
        snapshot = _pin(round_id, settings.source)
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
    state, message = _compare(snapshot, latest, settings)
    return Finding(round_id, state, snapshot.commit, known, message)


def _pin(round_id: str, source: str | None) -> Snapshot:
    from tasks.sources.snapshot import pin

    for wait_s in RETRY_AFTER_S:
        try:
            return pin(round_id, source)
        except SourceUnavailable:
            time.sleep(wait_s)
    return pin(round_id, source)


def _compare(
    snapshot: Snapshot, latest: Manifest, settings: Settings
) -> tuple[watch_record.State, str | None]:
    """Returns whether a source's bytes, as this code reads them, are the version in use."""
    from gpurank.logs.round_tables import code_hash

    round_id, code = snapshot.round_id, code_hash(snapshot.round_id)
    read_before = Store(settings.raw_dir).known(round_id, snapshot.fingerprint, code)
    if read_before is not None and read_before.version_id == latest.version_id:
        return "unchanged", None
    is_same_commit = snapshot.commit is not None and snapshot.commit == latest.source_commit
    if is_same_commit and latest.form == "full" and lacks_files(latest.fingerprint):
        return "changed", "the version in use was read from a copy that lacked files"
    if not is_same_commit and snapshot.fingerprint != latest.fingerprint:
        return "changed", None
    if latest.form == "full" and latest.code_hash != code:
        return "changed", "same bytes; the version in use was read by other code"
    return "unchanged", None
