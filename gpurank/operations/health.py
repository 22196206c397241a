"""The state of the data folder and of the installation, as rows."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gpurank.answers.warehouse import Answer, NoData, ask, open_warehouse, published_versions
from gpurank.operations import freshness_checks
from gpurank.operations.freshness import freshness_of
from gpurank.settings import Settings
from gpurank.store.claim import CLAIM, LEASE_S
from gpurank.store.remote import remote_holder
from gpurank.store.run_lock import holder, read_owner
from gpurank.store.versions import Manifest, Store, StoreError

_PACKAGES = (
    "gpurank", "duckdb", "polars", "pyarrow", "prefect", "great-expectations", "scikit-learn",
    "numpy", "pandas",
)  # fmt: skip
_LOW_SPACE_B = 2_000_000_000

Row = tuple[str, str, str]


def rounds(settings: Settings) -> Answer:
    """Returns the rounds of the store and the known ones that it lacks, one row per round.

    A round of the store has its version in use, source and content. ``state``: ``held``,
    ``missing`` (published and not held) or ``expected`` (announced); ``published_on`` is null where
    the date is not known, ``expected_on`` is an estimate.

    Raises:
        NoData: there is none.
        StoreError: a version in use is damaged.
    """
    store = Store(settings.raw_dir)
    published = published_versions(settings.warehouse_path)
    held = {name: item for name in store.rounds() if (item := store.latest(name))}
    if not held:
        raise NoData(f"no round has been ingested into {settings.home}; `gpurank run` does")
    columns = (
        "round_id", "version_id", "form", "source_kind", "source_commit", "files", "bytes",
        "folders", "results", "quarantined", "runs", "issues", "failed_versions", "taken_at",
        "is_in_warehouse", "state", "published_on", "expected_on",
    )  # fmt: skip
    types = ("VARCHAR",) * 5 + ("BIGINT",) * 8 + ("VARCHAR", "BOOLEAN", "VARCHAR", "DATE", "DATE")
    rows = []
    for known in freshness_of(settings).rounds:
        values: tuple[object, ...] = (known.round_id, *(None,) * (len(columns) - 4))
        if known.round_id in held:
            values = _round(held[known.round_id], store, published)
        rows.append((*values, known.state, known.published_on, known.expected_on))
    return Answer(columns, tuple(rows), types, "rounds in the data folder")


def examine(settings: Settings, max_age_days: float | None = None) -> Answer:
    """Returns rows of what was examined, its state and the finding.

    States: ``good``, ``note``, ``behind`` (a published round is missing) and ``bad``.
    ``max_age_days`` makes it bad that no watch ended since, or that a newer round than those held
    was published before.
    """
    rows = [*_environment(), *_home(settings), *_lock(settings)]
    rows += [*_claim(settings), *_store(settings)]
    rows += _warehouse(settings)
    rows += freshness_checks.rows(
        settings, published_versions(settings.warehouse_path), max_age_days
    )
    return Answer(("what", "state", "found"), tuple(rows), ("VARCHAR",) * 3, "doctor")


def _round(item: Manifest, store: Store, published: dict[str, str]) -> tuple[object, ...]:
    failed = sum(other.state == "failed" for other in store.versions(item.round_id))
    counts = (item.counts.get(key) for key in ("folder", "result", "quarantined", "run", "issue"))
    return (
        item.round_id, item.version_id, item.form, item.source_kind, item.source_commit,
        item.file_count, item.byte_count, *counts, failed, item.taken_at,
        published.get(item.round_id) == item.version_id,
    )  # fmt: skip


def _environment() -> Iterator[Row]:
    python = sys.version.split()[0]
    yield ("python", "good" if sys.version_info >= (3, 11) else "bad", python)
    for name in _PACKAGES:
        try:
            yield (name, "good", version(name))
        except PackageNotFoundError:
            yield (name, "bad", "not installed")
    git = shutil.which("git")
    yield ("git", "good" if git else "note", git or "absent: only mirrors can be read")


def _home(settings: Settings) -> Iterator[Row]:
    folder = settings.home
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    is_writable = os.access(folder, os.W_OK | os.X_OK)
    state = "good" if is_writable else "bad"
    yield ("data folder", state, f"{settings.home}{'' if is_writable else ' cannot be written'}")
    free = shutil.disk_usage(folder).free
    yield ("free space", "good" if free > _LOW_SPACE_B else "note", f"{free / 1e9:,.1f} GB")


def _lock(settings: Settings) -> Iterator[Row]:
    owner = holder(settings.lock_path)
    if owner is not None:
        yield ("lock", "note", f"held by {owner}")
    elif (dead := read_owner(settings.lock_path)) is not None:
        yield ("lock", "note", f"free; {dead} crashed; the next run removes what it left")
    else:
        yield ("lock", "good", "free")


def _claim(settings: Settings) -> Iterator[Row]:
    """Yields who holds the claim on a data folder on object storage; nothing for one on disk."""
    if settings.remote is None:
        return
    try:
        holder_and_age = remote_holder(settings)
    except StoreError as error:
        yield ("claim", "bad", str(error))
        return
    if holder_and_age is None:
        yield ("claim", "good", "free")
        return
    owner, age_s = holder_and_age
    yield (
        "claim",
        "note",
        f"held by {owner}, renewed {age_s:.0f} s ago; without a renewal it expires after "
        f"{LEASE_S:.0f} s; deleting {settings.remote.partition('?')[0]}/{CLAIM} ends it at once",
    )


def _store(settings: Settings) -> Iterator[Row]:
    store = Store(settings.raw_dir)
    names = store.rounds()
    if not names:
        yield ("store", "note", "no round yet; `gpurank run` ingests the shipped ones")
    for name in names:
        try:
            latest = store.latest(name)
            harm = store.damage(latest) if latest else ()
        except StoreError as error:
            harm, latest = (str(error),), None
        if harm or latest is None:
            yield (name, "bad", f"{'; '.join(harm)}; delete the version and ingest again")
        else:
            yield (name, "good", f"{latest.version_id}, {len(latest.hashes)} files intact")


def _warehouse(settings: Settings) -> Iterator[Row]:
    import duckdb

    path = settings.warehouse_path
    try:
        con = open_warehouse(path)
    except NoData as error:
        yield ("warehouse", "note" if not Path(path).exists() else "bad", str(error))
        return
    try:
        sql = "select count(*), count(score_min), count(distinct round_id) from marts.result"
        results, scored, held = ask(con, sql).rows[0]
        found = f"{results:,} results, {scored:,} scored, {held} rounds, {path.stat().st_size:,} B"
        yield ("warehouse", "good", found)
    except duckdb.Error as error:
        yield (
            "warehouse",
            "bad",
            f"{str(error).splitlines()[0]}; `gpurank analyze` builds it anew",
        )
    finally:
        con.close()
