"""The history of each round: analysis.version, and what changed in it: analysis.change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gpurank.answers.warehouse import loaded_versions
from gpurank.settings import Settings
from gpurank.store.changes import Change, Result, State, changes
from gpurank.store.history import Publication, last_two, publications
from gpurank.store.versions import Manifest, Store

if TYPE_CHECKING:
    import duckdb

_RESULTS = """
with logs as (
    select run.result_id, md5(string_agg(file.sha256, ',' order by file.sha256)) as logs
    from core.run as run
    join raw.source_file as file on file.round_id = run.round_id and file.path = run.file
    group by run.result_id
), ranks as (
    select result_id, rank() over (
        partition by round_id, benchmark order by score_min * (accelerator_count + ?)
    ) as place
    from metrics.configuration where is_in_round_list and accelerator_count > 0
)
select r.result_id, r.benchmark, r.system_path, s.score_min, ranks.place, logs.logs
from core.result as r
left join metrics.score as s using (result_id)
left join logs using (result_id)
left join ranks using (result_id)
where r.round_id = ? order by r.result_id
"""
_SYSTEMS = "select path, fields_json from raw.system where round_id = ? order by path"
_QUARANTINED = (
    "select quarantine_id, string_agg(reason, '; ' order by reason) from core.quarantine "
    "where round_id = ? group by quarantine_id"
)


def record_history(con: duckdb.DuckDBPyConnection, settings: Settings) -> dict[str, int]:
    """Write every loaded round's publications, and what changed between its two newest ones.

    Reads raw, core and metrics. The earlier versions are loaded into a database in memory.

    Returns:
        Rows per table.
    """
    store = Store(settings.raw_dir)
    history = _loaded_history(con, store, settings)
    pairs = {name: pair for name, items in history.items() if (pair := last_two(items))}
    rows: list[dict[str, Any]] = []
    if pairs:
        with states_of([old.manifest for old, _ in pairs.values()], store) as earlier:
            for round_id, (old, new) in pairs.items():
                chips = settings.lambda_chips
                before, after = state(earlier, round_id, chips), state(con, round_id, chips)
                rows += [_change_row(change, old, new) for change in changes(before, after)]
    versions = [row for items in history.values() for row in _version_rows(items)]
    return {
        "versions": _write(con, "analysis.version", versions),
        "changes": _write(con, "analysis.change", rows),
    }


@contextmanager
def states_of(versions: Sequence[Manifest], store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    """Provide a database in memory with the SQL layers up to metrics of the given versions."""
    import duckdb

    from tasks.build.identity import load_identity
    from tasks.build.load import Version, load_raw
    from tasks.build.lookups import StaleCorrection, load_lookups
    from tasks.build.models import run_layer

    with duckdb.connect() as con:
        load_raw(
            con,
            [
                Version(m.round_id, m.version_id, store.folder(m.round_id, m.version_id))
                for m in versions
            ],
        )
        try:
            load_lookups(con)
        except StaleCorrection:
            # A correction names the bytes that it corrects, which are not those of this version.
            load_lookups(con, corrections=False)
        load_identity(con)
        for layer in ("staging", "core", "metrics"):
            run_layer(con, layer)
        yield con


def state(con: duckdb.DuckDBPyConnection, round_id: str, lambda_chips: float) -> State:
    """Returns a round's results, systems and quarantined folders as a database holds them."""
    rows = con.execute(_RESULTS, [lambda_chips, round_id]).fetchall()
    systems = dict(con.execute(_SYSTEMS, [round_id]).fetchall())
    quarantined = dict(con.execute(_QUARANTINED, [round_id]).fetchall())
    return State(tuple(Result(*row) for row in rows), systems, quarantined)


def _write(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]]) -> int:
    from gpurank.declared.contracts import contract
    from tasks.build.load import create_table, one_commit

    with one_commit(con):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {contract(table).layer}")
        create_table(con, table, rows)
    return len(rows)


def _naive_utc(when: datetime | None) -> datetime | None:
    """Returns a time as the warehouse stores it: in UTC, without a time zone."""
    return None if when is None else when.astimezone(UTC).replace(tzinfo=None)


def _loaded_history(
    con: duckdb.DuckDBPyConnection, store: Store, settings: Settings
) -> Mapping[str, tuple[Publication, ...]]:
    """Returns the publications of each loaded round, up to the version that is loaded."""
    history = {}
    for round_id, version_id in loaded_versions(con).items():
        published = publications(store, round_id)
        loaded_at = [
            index
            for index, publication in enumerate(published)
            if publication.manifest.version_id == version_id
            and (settings.as_of is None or publication.known_from <= settings.as_of)
        ]
        history[round_id] = published[: max(loaded_at, default=-1) + 1]
    return history


def _change_row(change: Change, old: Publication, new: Publication) -> dict[str, Any]:
    return {
        "round_id": new.manifest.round_id,
        **asdict(change),
        "old_version_id": old.manifest.version_id,
        "new_version_id": new.manifest.version_id,
        "old_commit": old.manifest.source_commit,
        "new_commit": new.manifest.source_commit,
        "changed_at": _naive_utc(new.valid_from),
    }


def _version_rows(history: Sequence[Publication]) -> Iterator[dict[str, Any]]:
    for index, publication in enumerate(history):
        following = history[index + 1] if index + 1 < len(history) else None
        manifest = publication.manifest
        yield {
            "round_id": manifest.round_id,
            "publication_number": index + 1,
            "version_id": manifest.version_id,
            "source_commit": manifest.source_commit,
            "content_hash": manifest.content_hash,
            "valid_from": _naive_utc(publication.valid_from),
            "valid_to": _naive_utc(following.valid_from) if following else None,
            "is_in_use": following is None,
            "folder_count": manifest.counts.get("folder"),
            "quarantined_count": manifest.counts.get("quarantined"),
            "run_count": manifest.counts.get("run"),
        }
