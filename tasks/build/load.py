"""Creates a new warehouse file and loads the raw tables; makes tables from their contracts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.declared.contracts import RUN_ID, Contract, contract, version_contracts
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit, GpurankError
from gpurank.store.versions import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import polars as pl

# Older DuckDB clients can read this format; see docs/decisions.md.
STORAGE_VERSION = "v1.5.0"
# Events stay in their Parquet files, because they are large and no model reads them.
NOT_LOADED = frozenset({"raw.event"})

_RUN_ID_DOC = "the run that made the row; lookup.run says of what, and its id in the logs"
_TABLES_WITHOUT_RUN_ID_COMMENT = """
    SELECT format('{}."{}"', t.schema_name, t.table_name), count(c.column_name) > 0
    FROM duckdb_tables() AS t LEFT JOIN duckdb_columns() AS c ON
        c.table_oid = t.table_oid AND c.database_oid = t.database_oid AND c.column_name = ?
    WHERE t.database_name = current_database() AND c.comment IS NULL
    GROUP BY ALL ORDER BY ALL
"""


class LoadError(GpurankError, RuntimeError):
    """The warehouse cannot be loaded. The message names the cause and what to do."""

    exit_code = Exit.VALIDATION


@dataclass(frozen=True, slots=True)
class Version:
    """One round's version on disk, and since when it is valid (gpurank.store.history)."""

    round_id: str
    version_id: str
    path: Path
    valid_from: datetime | None = None


@contextmanager
def new_warehouse(path: Path, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Opens a new warehouse file; the file is complete when the block ends.

    Args:
        path: the file; must not exist.
        threads: DuckDB threads; all cores by default. Results do not depend on it.

    Raises:
        LoadError: the file exists.
    """
    import duckdb

    if path.exists():
        raise LoadError(f"{path} exists; a warehouse is always built under a new name")
    con = duckdb.connect(config={"threads": threads} if threads else {})
    try:
        target = str(path).replace("'", "''")
        con.execute(
            f"ATTACH '{target}' AS warehouse "
            f"(STORAGE_VERSION '{STORAGE_VERSION}', RECOVERY_MODE no_wal_writes)"
        )
        con.execute("USE warehouse")
        con.execute("SET preserve_insertion_order = true")
        yield con
        con.execute("USE memory")
        con.execute("DETACH warehouse")
    finally:
        con.close()


@contextmanager
def one_commit(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Runs the statements of the block in one transaction; each commit would cost a disk sync.

    New tables get the ``run_id`` of the current run (tasks.build.provenance.begin) within the
    transaction, because a column that is added later makes the file larger.
    """
    con.execute("BEGIN")
    try:
        yield
        _add_run_id(con)
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")


def _add_run_id(con: duckdb.DuckDBPyConnection) -> None:
    ((run,),) = con.execute("SELECT getvariable(?)", [RUN_ID]).fetchall()
    if run is None:
        return
    for table, has_run_id in con.execute(_TABLES_WITHOUT_RUN_ID_COMMENT, [RUN_ID]).fetchall():
        if not has_run_id:
            # Rows that are inserted later get the default.
            con.execute(f"ALTER TABLE {table} ADD COLUMN {RUN_ID} VARCHAR DEFAULT '{run}'")
        con.execute(f"COMMENT ON COLUMN {table}.{RUN_ID} IS '{_RUN_ID_DOC}'")


def load_raw(con: duckdb.DuckDBPyConnection, versions: Sequence[Version]) -> None:
    """Makes raw.* from the versions' Parquet files and adds round_id, version_id and run_id.

    Raises:
        LoadError: there is no version, or a table's file is missing or does not fit its contract.
    """
    if not versions:
        raise LoadError("no round to load; ingest one first")
    ordered = sorted(versions, key=lambda version: round_order(version.round_id))
    with one_commit(con):
        con.execute("CREATE SCHEMA IF NOT EXISTS raw")
        for declared in version_contracts():
            if declared.table not in NOT_LOADED:
                _load_raw_table(con, declared, ordered)
        _load_round_versions(con, ordered)


def _load_raw_table(
    con: duckdb.DuckDBPyConnection, declared: Contract, versions: Sequence[Version]
) -> None:
    import duckdb

    con.execute(
        f"CREATE TABLE {declared.table} "
        f"(round_id VARCHAR, version_id VARCHAR, {declared.sql_columns}, {RUN_ID} VARCHAR)"
    )
    names = ", ".join(f'"{name}"' for name in declared.column_names)
    order = ", ".join(f'"{name}"' for name in declared.key)
    for version in versions:
        file = version.path / f"{declared.table.partition('.')[2]}.parquet"
        try:
            con.execute(
                f"INSERT INTO {declared.table} SELECT ?, ?, {names}, ? "  # noqa: S608
                f"FROM read_parquet(?) ORDER BY {order}",
                [version.round_id, version.version_id, run_of(version), str(file)],
            )
        except duckdb.Error as error:
            raise LoadError(
                f"{file} does not fit {declared.table} ({error}); ingest the round again"
            ) from error


def run_of(version: Version) -> str:
    """Returns the id of the run that read a version.

    Versions from before run ids were recorded get an id of their own.
    """
    return read_manifest(version.path).run_id or f"unrecorded-{version.version_id}"


def _load_round_versions(con: duckdb.DuckDBPyConnection, versions: Sequence[Version]) -> None:
    rows = []
    for version in versions:
        manifest = read_manifest(version.path)
        since = version.valid_from
        rows.append(
            {
                "round_id": version.round_id,
                "version_id": version.version_id,
                "source_kind": manifest.source_kind,
                "source_uri": manifest.source_uri,
                "source_commit": manifest.source_commit,
                "content_hash": manifest.content_hash,
                "code_hash": manifest.code_hash,
                "taken_at": manifest.taken_at,
                "file_count": manifest.file_count,
                "byte_count": manifest.byte_count,
                RUN_ID: run_of(version),
                # The warehouse stores UTC without a time zone.
                "valid_from": since and since.astimezone(UTC).replace(tzinfo=None),
            }
        )
    create_table(con, "raw.round_version", rows)


def load_frames(con: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame]) -> None:
    """Makes or replaces tables (``schema.name`` to frame); the order of rows is kept."""
    for table, frame in sorted(frames.items()):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.partition('.')[0]}")
        con.register("incoming", frame.to_arrow())
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming")  # noqa: S608
        con.unregister("incoming")


def create_empty(con: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> None:
    """Makes tables without rows from their contracts, unless they are there."""
    for table in tables:
        declared = contract(table)
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {declared.layer}")
        con.execute(f"CREATE TABLE IF NOT EXISTS {table} ({declared.sql_columns})")


def create_table(
    con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Makes a small table from its contract and from rows that hold each declared column."""
    declared = contract(table)
    con.execute(f"CREATE TABLE {table} ({declared.sql_columns})")
    if rows:
        marks = "(" + ", ".join("?" for _ in declared.columns) + ")"
        # One statement, because executemany would plan each row again.
        con.execute(
            f"INSERT INTO {table} VALUES {', '.join([marks] * len(rows))}",  # noqa: S608
            [row[name] for row in rows for name in declared.column_names],
        )
