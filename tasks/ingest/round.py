"""One round from its source into the store: pin, read, describe, validate, seal, publish.

Plain functions: flows wrap them. The caller holds the run lock.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpurank.declared.contracts import contract
from gpurank.declared.validation import ValidationFailed, ValidationReport, issue_rows
from gpurank.logs.source_files import SourceFile, content_hash, content_id
from gpurank.pages.validation import validation_page
from gpurank.settings import Settings
from gpurank.store import rounds_lock
from gpurank.store.versions import Manifest, Store, now, version_id, write_durably
from tasks.checks.validate import validate_version
from tasks.pool import Progress, ordered_map, run_in_subprocess
from tasks.sources.snapshot import Snapshot, files, pin, source_date

_PROGRESS_INTERVAL_S = 0.3


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Result of ingesting one round.

    ``state``: ``ingested``, ``unchanged`` (this source was read before by this code),
    ``adopted`` (shipped facts) or ``failed``; then ``message`` says why and ``exit_code`` is the
    command's.
    """

    round_id: str
    state: str
    version_id: str | None = None
    commit: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    message: str | None = None
    exit_code: int = 0


def ingest_round(
    round_id: str, settings: Settings, follow: Progress | None = None, readers: int = 1
) -> IngestResult:
    """Brings one round up to date in the store and moves its pointer.

    A source whose fingerprint this code has read before is not read again, and bytes that give an
    existing version write nothing.

    Args:
        round_id: the round's name.
        settings: source, folders and limits.
        follow: called with the bytes and files read so far.
        readers: processes that parse the round's files; with one, the process that unpacks them.

    Raises:
        SourceError: the source is absent, unreachable or damaged.
        ValidationFailed: a critical check failed; the version is kept as failed.
        WorkerDied: a reading process was ended from outside.
    """
    from gpurank.logs.round_tables import code_hash

    store = Store(settings.raw_dir)
    snapshot = pin(round_id, settings.source, settings.accept_missing)
    code = code_hash(round_id)
    manifest = store.known(round_id, snapshot.fingerprint, code)
    if manifest is not None:
        publish_version(manifest, store, settings)
        return result_of(manifest, "unchanged")
    with store.building(round_id) as folder:
        arguments = snapshot, settings.cache_dir, folder, readers
        run_in_subprocess(read_snapshot, *arguments, follow=follow)
        manifest = describe_version(folder, snapshot, code, settings)
        if not store.has(round_id, manifest.version_id):
            try:
                check_version(folder, manifest, store, settings)
            except ValidationFailed as error:
                store.seal(folder, replace(manifest, state="failed", failure=str(error)))
                raise
        manifest = store.seal(folder, manifest)
    store.remember(round_id, snapshot.fingerprint, manifest.version_id)
    publish_version(manifest, store, settings)
    return result_of(manifest, "ingested")


def read_snapshot(
    snapshot: Snapshot,
    cache_dir: Path,
    folder: Path,
    readers: int = 1,
    progress: Progress | None = None,
) -> None:
    """Reads a snapshot's files into raw tables in a folder; runs in a process of its own.

    That process unpacks the files and writes the rows; ``readers`` more parse them.
    """
    from tasks.ingest.raw_tables import write_round

    with ordered_map(readers) as map_chunks:
        taken = _report_progress(files(snapshot, cache_dir), progress)
        write_round(taken, snapshot.round_id, folder, map_chunks)


def _report_progress(
    taken: Iterable[SourceFile], progress: Progress | None
) -> Iterator[SourceFile]:
    """Yields the same files; reports the bytes and files so far some times a second."""
    bytes_read = files_read = 0
    reported_at = 0.0
    for file in taken:
        yield file
        bytes_read += len(file.data)
        files_read += 1
        if progress is not None and time.monotonic() - reported_at > _PROGRESS_INTERVAL_S:
            progress(bytes_read, files_read)
            reported_at = time.monotonic()
    if progress is not None:
        progress(bytes_read, files_read)


def describe_version(folder: Path, snapshot: Snapshot, code: str, settings: Settings) -> Manifest:
    """Returns the manifest of a version, its numbers counted from what was written."""
    listed = source_files(folder)
    content = content_hash((path, identifier) for path, identifier, _ in listed)
    return Manifest(
        round_id=snapshot.round_id,
        version_id=version_id(content, code),
        state="complete",
        form="full",
        source_kind=snapshot.kind,
        source_uri=snapshot.uri,
        source_commit=snapshot.commit,
        fingerprint=snapshot.fingerprint,
        content_hash=content,
        code_hash=code,
        taken_at=now(),
        file_count=len(listed),
        byte_count=sum(byte_count for _, _, byte_count in listed),
        counts=row_counts(folder),
        source_date=source_date(snapshot, settings.cache_dir),
        run_id=settings.run_id,
    )


def source_files(folder: Path) -> list[tuple[str, str, int]]:
    """Returns (path, content id, bytes) of every file that a version was read from.

    A file that was missing from its copy counts no bytes: its size is unknown.
    """
    import pyarrow.parquet as pq

    names = ["path", "sha256", "git_blob", "byte_count"]
    rows = pq.read_table(folder / "source_file.parquet", columns=names).to_pylist()
    return [
        (row["path"], content_id(row["sha256"], row["git_blob"]), row["byte_count"] or 0)
        for row in rows
    ]


def row_counts(folder: Path) -> dict[str, int]:
    """Returns the rows of each raw table, and how many result folders are kept or quarantined."""
    import pyarrow.parquet as pq

    counts = {
        path.stem: int(pq.read_metadata(path).num_rows) for path in sorted(folder.glob("*.parquet"))
    }
    reasons = pq.read_table(folder / "folder.parquet", columns=["quarantine_reason"])
    quarantined = reasons.num_rows - reasons.column(0).null_count
    counts["quarantined"] = quarantined
    counts["result"] = reasons.num_rows - quarantined
    return counts


def check_version(folder: Path, manifest: Manifest, store: Store, settings: Settings) -> None:
    """Validates a version that is being built; failed checks become issue rows and a page.

    Raises:
        ValidationFailed: a critical check failed; its issues and its page are written.
    """
    previous = _counts_to_keep(manifest, store, settings)
    failure = None
    try:
        report = validate_version(folder, manifest.round_id, previous, manifest.form)
    except ValidationFailed as error:
        report, failure = error.report, error
    _add_issues(folder, report)
    name = f"{manifest.round_id}-{manifest.version_id}"
    title = f"Validation of {manifest.round_id} {manifest.version_id}"
    write_page(settings.reports_dir, name, [report], title)
    if failure is not None:
        raise failure


def _counts_to_keep(
    manifest: Manifest, store: Store, settings: Settings
) -> Mapping[str, int] | None:
    """Returns the row counts that a new version must not fall below; None where it may.

    A commit is proven whole by its hashes, so that a file it lacks was removed upstream and not
    lost on the way: a new commit may lose up to half of the result folders without confirmation.
    """
    latest = store.latest(manifest.round_id)
    if latest is None or settings.accept_shrink:
        return None
    is_new_commit = manifest.source_kind == "git" and latest.source_commit != manifest.source_commit
    has_half = 2 * manifest.counts["folder"] >= latest.counts.get("folder", 0)
    return None if is_new_commit and has_half else latest.counts


def write_page(
    reports_dir: Path, name: str, reports: Sequence[ValidationReport], title: str
) -> Path:
    """Writes the readable page of some validations; returns its path."""
    reports_dir.mkdir(parents=True, exist_ok=True)
    path = reports_dir / f"validation-{name}.html"
    write_durably(path, validation_page(reports, title))
    return path


def _add_issues(folder: Path, report: ValidationReport) -> None:
    """Adds each failed check to raw.issue: a warning never stops a version, but must be seen."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = issue_rows(report)
    path = folder / "issue.parquet"
    if not rows or not path.is_file():
        return
    schema = contract("raw.issue").arrow_schema()
    issues = pq.read_table(path)
    messages = set(issues["message"].to_pylist())
    added = pa.Table.from_pylist([row for row in rows if row["message"] not in messages], schema)
    if added.num_rows:
        pq.write_table(pa.concat_tables([issues.cast(schema), added]), path, compression="zstd")


def publish_version(manifest: Manifest, store: Store, settings: Settings) -> None:
    """Moves the round's pointer, last of all, and notes the round's source in the lock file."""
    latest = store.latest(manifest.round_id)
    if latest is None or latest.version_id != manifest.version_id:
        store.publish(manifest)
    rounds_lock.write(settings.rounds_lock_path, [manifest])


def result_of(manifest: Manifest, state: str) -> IngestResult:
    """Returns the result that names a version in use."""
    return IngestResult(
        manifest.round_id,
        state,
        manifest.version_id,
        manifest.source_commit,
        dict(manifest.counts),
    )
