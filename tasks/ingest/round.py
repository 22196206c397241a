"""One round from its source into the store: pin, read, validate, seal, publish.

Plain functions: flows wrap them. The caller holds the run lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpurank.logs.source_files import content_hash
from gpurank.settings import Settings
from gpurank.store import rounds_lock as roundlock
from gpurank.store.versions import Manifest, Store, now, version_id, write_durably
from tasks.process.sharing import ALONE, Share

if TYPE_CHECKING:
    from gpurank.declared.validation import ValidationFailed, ValidationReport
    from tasks.sources.snapshot import Snapshot

Follow = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one round.

    ``state``: ``ingested``, ``unchanged`` (this source was read before by this code),
    ``adopted`` (shipped facts) or ``failed``; then ``message`` says why and ``exit_code`` how a
    command reports it.
    """

    round_id: str
    state: str
    version_id: str | None = None
    commit: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    message: str | None = None
    exit_code: int = 0


def read_round(snapshot: Snapshot, cache_dir: Path, folder: Path) -> None:
    """Read a snapshot's files into raw tables in a folder; runs in a worker process."""
    from tasks.ingest.raw_tables import write_round
    from tasks.process.partners import each
    from tasks.process.worker import counted
    from tasks.sources.snapshot import OutOfOrder, files

    try:
        taken = files(snapshot, cache_dir, in_one_pass=True)
        write_round(counted(taken), snapshot.round_id, folder, each=each)
    except OutOfOrder:
        # Every file is written anew, so that nothing stays of the first attempt.
        write_round(counted(files(snapshot, cache_dir)), snapshot.round_id, folder, each=each)


def ingest_round(
    round_id: str, settings: Settings, follow: Follow | None = None, share: Share = ALONE
) -> Outcome:
    """Bring one round up to date in the store and move its pointer.

    A source whose fingerprint this code has read before is not read again, and bytes that give an
    existing version write nothing. ``share`` says how many processes read.

    Raises:
        SourceError: the source is absent, unreachable or damaged.
        ValidationFailed: a critical check failed; the version is kept as failed.
    """
    from gpurank.logs.round_tables import code_hash
    from tasks.process.worker import run_alone
    from tasks.sources.snapshot import pin, source_date

    store = Store(settings.raw_dir)
    snapshot = pin(round_id, settings.source)
    code = code_hash(round_id)
    known = store.known(round_id, snapshot.fingerprint, code)
    if known is not None:
        return _in_use(known, store, settings, "unchanged")
    with store.building(round_id) as folder, ExitStack() as turn:
        turn.enter_context(share.turn())
        read = read_round, snapshot, settings.cache_dir, folder
        run_alone(*read, follow=follow, partner_count=share.partners)
        draft = replace(
            _manifest(snapshot, folder, code),
            source_date=source_date(snapshot, settings.cache_dir),
            run_id=settings.run_id,
        )
        if not store.has(round_id, draft.version_id):
            # Counting takes the memory of a reader; the next round is read from its end on.
            failure = validated(folder, draft, store, settings)
            if failure is not None:
                store.seal(folder, replace(draft, state="failed", failure=str(failure)))
                raise failure
        sealed = store.seal(folder, draft)
    store.remember(round_id, snapshot.fingerprint, sealed.version_id)
    return _in_use(sealed, store, settings, "ingested")


def _in_use(manifest: Manifest, store: Store, settings: Settings, state: str) -> Outcome:
    point(store, settings, manifest)
    return outcome(manifest, state)


def _manifest(snapshot: Snapshot, folder: Path, code: str) -> Manifest:
    """The version's manifest, its numbers counted from what was written."""
    taken = source_files(folder)
    content = content_hash((path, sha256) for path, sha256, _ in taken)
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
        file_count=len(taken),
        byte_count=sum(size for _, _, size in taken),
        counts=row_counts(folder),
    )


def source_files(folder: Path) -> list[tuple[str, str, int]]:
    """(path, SHA-256, bytes) of every file that a version was read from."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "source_file.parquet", columns=["path", "sha256", "byte_count"])
    columns = (table.column(name).to_pylist() for name in ("path", "sha256", "byte_count"))
    return list(zip(*columns, strict=True))


def row_counts(folder: Path) -> dict[str, int]:
    """Rows of each raw table in a version's folder, and result folders kept and set aside."""
    import pyarrow.parquet as pq

    counts = {
        path.stem: int(pq.read_metadata(path).num_rows) for path in sorted(folder.glob("*.parquet"))
    }
    reasons = pq.read_table(folder / "folder.parquet", columns=["quarantine_reason"])
    quarantined = reasons.num_rows - reasons.column(0).null_count
    counts["quarantined"] = quarantined
    counts["result"] = reasons.num_rows - quarantined
    return counts


def validated(
    folder: Path, draft: Manifest, store: Store, settings: Settings
) -> ValidationFailed | None:
    """Check a version that is being built; keep its failed checks as issue rows and a page.

    Gives the failure where a critical check failed, so that the caller can keep the version.
    """
    from gpurank.declared.validation import ValidationFailed
    from tasks.checks.validate import validate_version

    previous = _counts_before(draft, store, settings)
    failure = None
    try:
        report = validate_version(folder, draft.round_id, previous, draft.form)
    except ValidationFailed as error:
        report, failure = error.report, error
    _add_issues(folder, report)
    name = f"{draft.round_id}-{draft.version_id}"
    write_page(
        settings.reports_dir, name, [report], f"Validation of {draft.round_id} {draft.version_id}"
    )
    return failure


def _counts_before(draft: Manifest, store: Store, settings: Settings) -> Mapping[str, int] | None:
    """Rows that a new version is measured against; None where it may hold fewer.

    A commit is whole by its hashes, so that what it lacks was taken away upstream and not lost on
    the way: then a round may lose up to half of its result folders without being asked about.
    """
    latest = store.latest(draft.round_id)
    if latest is None or settings.accept_shrink:
        return None
    is_by_upstream = draft.source_kind == "git" and latest.source_commit != draft.source_commit
    is_half_there = 2 * draft.counts["folder"] >= latest.counts.get("folder", 0)
    return None if is_by_upstream and is_half_there else latest.counts


def write_page(
    reports_dir: Path, name: str, reports: Sequence[ValidationReport], title: str
) -> Path:
    """Write the readable page of some validations; gives its path."""
    from gpurank.pages.validation import validation_page

    reports_dir.mkdir(parents=True, exist_ok=True)
    path = reports_dir / f"validation-{name}.html"
    write_durably(path, validation_page(reports, title))
    return path


def _add_issues(folder: Path, report: ValidationReport) -> None:
    """A warning never stops a version, but nobody may miss it: it becomes a row of raw.issue."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from gpurank.declared.contracts import contract
    from gpurank.declared.validation import issue_rows

    rows = issue_rows(report)
    path = folder / "issue.parquet"
    if not rows or not path.is_file():
        return
    schema = contract("raw.issue").arrow_schema()
    known = pq.read_table(path)
    told = set(known["message"].to_pylist())
    added = pa.Table.from_pylist([row for row in rows if row["message"] not in told], schema)
    if added.num_rows:
        pq.write_table(pa.concat_tables([known.cast(schema), added]), path, compression="zstd")


def point(store: Store, settings: Settings, manifest: Manifest) -> None:
    """Move the round's pointer, last of all, and note what the round was taken from."""
    latest = store.latest(manifest.round_id)
    if latest is None or latest.version_id != manifest.version_id:
        store.publish(manifest)
    roundlock.write(settings.rounds_lock_path, [manifest])


def outcome(manifest: Manifest, state: str) -> Outcome:
    """The outcome that a version in use stands for."""
    return Outcome(
        manifest.round_id,
        state,
        manifest.version_id,
        manifest.source_commit,
        dict(manifest.counts),
    )
