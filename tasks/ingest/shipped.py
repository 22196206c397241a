"""Shipped facts: the raw versions of the published rounds, small enough to travel in the package.

They are ordinary versions whose events are reduced to the records that runs refer to.
``adopt`` copies them into a store; ``build`` makes them from a store.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from gpurank.declared.rounds import declared_rounds, round_order
from gpurank.settings import Settings
from gpurank.store import rounds_lock
from gpurank.store.versions import (
    Manifest,
    Store,
    StoreError,
    damage,
    file_sha256,
    read_manifest,
    version_id,
    write_durably,
)
from tasks.ingest.round import IngestResult, check_version, publish_version, result_of
from tasks.sources.resolve import available

if TYPE_CHECKING:
    import pyarrow as pa

# Columns of raw.run that name a record of its log.
_LINES = ("start_line", "stop_line", "quality_line")


def facts_dir() -> Path:
    """Returns the folder of the facts that ship with the package."""
    with as_file(files("warehouse")) as folder:
        return Path(folder) / "facts"


def shipped(folder: Path | None = None) -> dict[str, Path]:
    """Returns the folder of each shipped round's version, by round, oldest first."""
    manifests = (folder or facts_dir()).glob("*/*/manifest.json")
    versions = {path.parent.parent.name: path.parent for path in manifests}
    return {round_id: versions[round_id] for round_id in sorted(versions, key=round_order)}


def adopt(round_id: str, settings: Settings, folder: Path | None = None) -> IngestResult:
    """Copies a shipped round into the store, validated as any other version.

    A round that was ingested from a source stays as it is: it is at least as complete.

    Raises:
        StoreError: the round does not ship, or its files are damaged.
        ValidationFailed: a critical check failed.
    """
    versions = shipped(folder)
    if round_id not in versions:
        raise StoreError(
            f"{round_id} does not ship with gpurank (shipped: {', '.join(versions) or 'none'}); "
            "give --source, or use `gpurank ingest` to fetch it"
        )
    store = Store(settings.raw_dir)
    latest = store.latest(round_id)
    if latest is not None and latest.form == "full":
        return result_of(latest, "unchanged")
    manifest = read_manifest(versions[round_id])
    if store.has(round_id, manifest.version_id):
        publish_version(manifest, store, settings)
        return result_of(manifest, "unchanged")
    damaged = damage(versions[round_id], manifest)
    if damaged:
        raise StoreError(f"shipped facts are damaged: {damaged[0]}; install gpurank again")
    with store.building(round_id) as target:
        for name in manifest.hashes:
            shutil.copyfile(versions[round_id] / name, target / name)
        check_version(target, manifest, store, settings)
        manifest = store.seal(target, manifest)
    publish_version(manifest, store, settings)
    return result_of(manifest, "adopted")


def is_adopted(round_ids: Sequence[str], settings: Settings) -> bool:
    """Returns whether each round's version in use is the shipped one, or a fully ingested one."""
    store, known = Store(settings.raw_dir), shipped()
    for round_id in round_ids:
        latest = store.latest(round_id)
        if latest is None or (latest.form != "full" and latest.version_id != known[round_id].name):
            return False
    return True


def selected(rounds: str, settings: Settings, use_shipped: bool) -> tuple[str, ...]:
    """Returns the names of the rounds that a selection means, among those that there are.

    Raises:
        UnknownRound: a malformed name, or nothing selected.
        SourceError: the source cannot be used at all.
    """
    declared = declared_rounds()
    names = tuple(shipped()) if use_shipped else available(settings.source)
    if names is None:
        # A remote cannot be asked what it holds; rounds with a date have been published.
        names = tuple(name for name in declared.declared if declared.get(name).published_on)
    return declared.select(rounds, names)


def build(rounds: Sequence[str], store: Store, warehouse: Path) -> list[Manifest]:
    """Writes the facts of ingested rounds and their lock file; returns their manifests.

    Args:
        rounds: rounds of the store.
        store: holds a full version of each of them.
        warehouse: the folder of ``facts/`` and ``rounds.lock.yml``.

    Raises:
        StoreError: a round is not in the store, or only as shipped facts.
    """
    manifests = []
    for round_id in rounds:
        latest = store.latest(round_id)
        if latest is None or latest.form != "full":
            raise StoreError(f"{round_id} is not ingested in full; ingest it from a source first")
        source = store.folder(round_id, latest.version_id)
        manifests.append(_write_facts(source, latest, warehouse / "facts" / round_id))
    rounds_lock.write(warehouse / "rounds.lock.yml", manifests)
    return manifests


def _write_facts(source: Path, manifest: Manifest, target: Path) -> Manifest:
    """Writes one round's facts in place of older ones; returns their manifest."""
    import pyarrow.parquet as pq

    code = hashlib.sha256(f"{manifest.code_hash} facts".encode()).hexdigest()
    version = version_id(manifest.content_hash, code)
    shutil.rmtree(target, ignore_errors=True)
    folder = target / version
    folder.mkdir(parents=True)
    for path in sorted(source.glob("*.parquet")):
        table = referenced_events(source) if path.stem == "event" else pq.read_table(path)
        pq.write_table(table, folder / path.name, compression="zstd", compression_level=19)
    event_count = pq.read_metadata(folder / "event.parquet").num_rows
    facts = replace(
        manifest,
        version_id=version,
        form="facts",
        code_hash=code,
        # The public repository and not the path of the builder's copy; the commit names the bytes.
        source_uri=declared_rounds().get(manifest.round_id).repository,
        counts={**manifest.counts, "event": event_count},
        hashes={path.name: file_sha256(path) for path in sorted(folder.iterdir())},
    )
    write_durably(folder / "manifest.json", facts.to_json())
    return facts


def referenced_events(source: Path) -> pa.Table:
    """Returns the events that a run's start, stop or quality is read from, in order."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    runs = pq.read_table(source / "run.parquet", columns=["path", *_LINES])
    wanted = pa.concat_tables(
        runs.select(["path", name]).rename_columns(["path", "line_number"]) for name in _LINES
    )
    wanted = wanted.filter(pc.is_valid(wanted["line_number"]))
    # Plain strings: a join takes no dictionaries as keys.
    wanted = wanted.set_column(0, "path", wanted["path"].cast(pa.string()))
    events = pq.read_table(source / "event.parquet")
    keys = pa.table(
        {
            "path": events["path"].cast(pa.string()),
            "line_number": events["line_number"],
            "position": pa.array(range(events.num_rows), pa.int64()),
        }
    )
    kept = keys.join(wanted, ["path", "line_number"], join_type="left semi")
    return events.take(kept["position"].combine_chunks().sort())
