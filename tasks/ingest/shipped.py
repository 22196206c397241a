"""Shipped facts: the raw versions of the published rounds, small enough to travel in the package.

They are ordinary versions whose events are reduced to the records that runs point at.
``adopt`` copies them into a store; ``build`` makes them from a store.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from gpurank.declared.rounds import declared_rounds, round_order
from gpurank.settings import Settings
from gpurank.store import rounds_lock as roundlock
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
from tasks.ingest.round import Outcome, outcome, point, validated

_LINES = ("start_line", "stop_line", "quality_line")


def facts_dir() -> Path:
    """Folder of the facts that ship with the package."""
    with as_file(files("warehouse")) as folder:
        return Path(folder) / "facts"


def shipped(folder: Path | None = None) -> dict[str, Path]:
    """Folder of each shipped round's version, by round, oldest first."""
    found = {path.parent.parent.name: path.parent for path in _manifests(folder or facts_dir())}
    return {name: found[name] for name in sorted(found, key=round_order)}


def adopt(round_id: str, settings: Settings, folder: Path | None = None) -> Outcome:
    """Take a shipped round into the store, checked as any other version.

    A round that was ingested from a source stays as it is: it is at least as complete.

    Raises:
        StoreError: the round does not ship, or its files are damaged.
        ValidationFailed: a critical check failed.
    """
    known = shipped(folder)
    if round_id not in known:
        raise StoreError(
            f"{round_id} does not ship with gpurank (shipped: {', '.join(known) or 'none'}); "
            "give --source, or use `gpurank ingest` to fetch it"
        )
    store = Store(settings.raw_dir)
    latest = store.latest(round_id)
    if latest is not None and latest.form == "full":
        return outcome(latest, "unchanged")
    manifest = read_manifest(known[round_id])
    if store.has(round_id, manifest.version_id):
        point(store, settings, manifest)
        return outcome(manifest, "unchanged")
    harm = damage(known[round_id], manifest)
    if harm:
        raise StoreError(f"shipped facts are damaged: {harm[0]}; install gpurank again")
    with store.building(round_id) as target:
        for name in manifest.hashes:
            shutil.copyfile(known[round_id] / name, target / name)
        failure = validated(target, manifest, store, settings)
        if failure is not None:
            raise failure
        sealed = store.seal(target, manifest)
    point(store, settings, sealed)
    return outcome(sealed, "adopted")


def is_adopted(round_ids: Sequence[str], settings: Settings) -> bool:
    """Returns whether each round's version in use is the shipped one, or a fully ingested one."""
    store, known = Store(settings.raw_dir), shipped()
    for round_id in round_ids:
        latest = store.latest(round_id)
        if latest is None or (latest.form != "full" and latest.version_id != known[round_id].name):
            return False
    return True


def selected(rounds: str, settings: Settings, use_shipped: bool) -> tuple[str, ...]:
    """Names of the rounds that a selection means, given what there is to choose from.

    Raises:
        UnknownRound: a malformed name, or nothing selected.
        SourceError: the source cannot be used at all.
    """
    declared = declared_rounds()
    if use_shipped:
        known: tuple[str, ...] | None = tuple(shipped())
    else:
        from tasks.sources.resolve import available

        known = available(settings.source)
    if known is None:
        # A remote cannot be asked what it holds; rounds with a date have been published.
        known = tuple(name for name in declared.declared if declared.get(name).published_on)
    return declared.select(rounds, known)


def build(rounds: Sequence[str], store: Store, warehouse: Path) -> list[Manifest]:
    """Write the facts of ingested rounds and their lock file; gives their manifests.

    ``warehouse`` is the folder that holds ``facts/`` and ``rounds.lock.yml``.

    Raises:
        StoreError: a round is not in the store, or only as shipped facts.
    """
    made = []
    for round_id in rounds:
        latest = store.latest(round_id)
        if latest is None or latest.form != "full":
            raise StoreError(f"{round_id} is not ingested in full; ingest it from a source first")
        made.append(
            _reduce(
                store.folder(round_id, latest.version_id), latest, warehouse / "facts" / round_id
            )
        )
    roundlock.write(warehouse / "rounds.lock.yml", made)
    return made


def _reduce(source: Path, manifest: Manifest, target: Path) -> Manifest:
    """Write one round's facts in place of older ones."""
    code = hashlib.sha256(f"{manifest.code_hash} facts".encode()).hexdigest()
    version = version_id(manifest.content_hash, code)
    shutil.rmtree(target, ignore_errors=True)
    folder = target / version
    folder.mkdir(parents=True)
    for path in sorted(source.glob("*.parquet")):
        _rewrite(path, source, folder / path.name)
    uri = declared_rounds().get(manifest.round_id).repository
    facts = replace(
        manifest,
        version_id=version,
        form="facts",
        code_hash=code,
        # Where the builder kept its copy is nobody's business; the commit says what it was.
        source_uri=uri,
        counts={**manifest.counts, "event": _rows(folder / "event.parquet")},
        hashes={path.name: file_sha256(path) for path in sorted(folder.iterdir())},
    )
    write_durably(folder / "manifest.json", facts.to_json())
    return facts


def _rewrite(path: Path, source: Path, target: Path) -> None:
    import pyarrow.parquet as pq

    table = pointed_at(source) if path.name == "event.parquet" else pq.read_table(path)
    pq.write_table(table, target, compression="zstd", compression_level=19)


def pointed_at(source: Path) -> object:
    """Events that a run's start, stop or quality stands on, in their order and schema."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    runs = pq.read_table(source / "run.parquet", columns=["path", *_LINES])
    wanted = pa.concat_tables(
        runs.select(["path", name]).rename_columns(["path", "line_number"]) for name in _LINES
    )
    wanted = wanted.filter(pc.is_valid(wanted["line_number"]))
    events = pq.read_table(source / "event.parquet")
    order = pa.array(range(events.num_rows), pa.int64())
    keys = pa.table(
        {
            "path": events["path"].cast(pa.string()),
            "line_number": events["line_number"],
            "order": order,
        }
    )
    wanted = wanted.set_column(0, "path", wanted["path"].cast(pa.string()))
    kept = keys.join(wanted, ["path", "line_number"], join_type="left semi")
    return events.take(kept["order"].combine_chunks().sort())


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _manifests(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*/manifest.json"))
