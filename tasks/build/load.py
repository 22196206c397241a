"""Load a new warehouse file with what the SQL models read: raw, lookup, identity tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.declared.contracts import RUN_ID, Contract, contract, contracts
from gpurank.declared.rounds import round_order
from gpurank.errors import Exit, GpurankError
from gpurank.store.versions import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import polars as pl

# Older clients should read the file; see docs/decisions.md.
STORAGE_VERSION = "v1.5.0"
# Events are large and stay in their Parquet files; nothing derived needs them all at once.
NOT_LOADED = frozenset({"raw.event"})

_SQL_TYPES = {
    "string": "VARCHAR",
    "dictionary": "VARCHAR",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "list_double": "DOUBLE[]",
    "list_string": "VARCHAR[]",
}
_ROUND_VERSION = (
    "round_id VARCHAR, version_id VARCHAR, source_kind VARCHAR, source_uri VARCHAR, "
    "source_commit VARCHAR, content_hash VARCHAR, code_hash VARCHAR, "
    "taken_at VARCHAR, file_count BIGINT, byte_count BIGINT, run_id VARCHAR, valid_from TIMESTAMP"
)

_RUN_ID_DOC = "the run that made the row; lookup.run says of what, and its id in the logs"
_NOT_NAMED = """
    SELECT format('{}."{}"', t.schema_name, t.table_name), count(c.column_name) > 0
    FROM duckdb_tables() AS t LEFT JOIN duckdb_columns() AS c ON
        c.table_oid = t.table_oid AND c.database_oid = t.database_oid AND c.column_name = ?
    WHERE t.database_name = current_database() AND c.comment IS NULL
    GROUP BY ALL ORDER BY ALL
"""


class LoadError(GpurankError, RuntimeError):
    """The warehouse cannot be loaded: says from what and what to do."""

    exit_code = Exit.VALIDATION


@dataclass(frozen=True, slots=True)
class Version:
    """One round's version on disk: what is loaded; ``valid_from`` by gpurank.store.history."""

    round_id: str
    version_id: str
    path: Path
    valid_from: datetime | None = None


@contextmanager
def new_warehouse(path: Path, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a new warehouse file; the file is complete when the block ends.

    Args:
        path: where it stands; must not exist.
        threads: DuckDB threads; all cores by default. Results do not depend on it.

    Raises:
        LoadError: something stands there already.
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
    """All statements of the block in one transaction: a commit each would cost a disk sync each.

    New tables get the ``run_id`` of the run that makes them (tasks.build.provenance.begin): within
    the transaction, since a column that comes later takes a part of the file again.
    """
    con.execute("BEGIN")
    try:
        yield
        _name_run(con)
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("COMMIT")


def _name_run(con: duckdb.DuckDBPyConnection) -> None:
    ((run,),) = con.execute("SELECT getvariable(?)", [RUN_ID]).fetchall()
    if run is None:
        return
    for table, has_it in con.execute(_NOT_NAMED, [RUN_ID]).fetchall():
        if not has_it:
            # The default serves rows that are added afterwards.
            con.execute(f"ALTER TABLE {table} ADD COLUMN {RUN_ID} VARCHAR DEFAULT '{run}'")
        con.execute(f"COMMENT ON COLUMN {table}.{RUN_ID} IS '{_RUN_ID_DOC}'")


def load_raw(con: duckdb.DuckDBPyConnection, versions: Sequence[Version]) -> None:
    """Make raw.* of the versions' Parquet, each row with its round_id, version_id and run_id.

    Raises:
        LoadError: no version, or a table's file is missing or has other columns than its contract.
    """
    if not versions:
        raise LoadError("no round to load; ingest one first")
    ordered = sorted(versions, key=lambda version: round_order(version.round_id))
    with one_commit(con):
        con.execute("CREATE SCHEMA IF NOT EXISTS raw")
        for declared in contracts():
            if declared.layer == "raw" and declared.table not in NOT_LOADED:
                _load_raw_table(con, declared, ordered)
        _load_round_versions(con, ordered)


def _load_raw_table(
    con: duckdb.DuckDBPyConnection, declared: Contract, versions: Sequence[Version]
) -> None:
    import duckdb

    columns = ", ".join(f'"{c.name}" {_SQL_TYPES[c.type]}' for c in declared.columns)
    con.execute(
        f"CREATE TABLE {declared.table} "
        f"(round_id VARCHAR, version_id VARCHAR, {columns}, {RUN_ID} VARCHAR)"
    )
    names = ", ".join(f'"{column.name}"' for column in declared.columns)
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
    """The run that read a version; one of before runs were recorded stands for itself."""
    return read_manifest(version.path).run_id or f"unrecorded-{version.version_id}"


def _load_round_versions(con: duckdb.DuckDBPyConnection, versions: Sequence[Version]) -> None:
    rows = []
    for version in versions:
        manifest = read_manifest(version.path)
        names = [entry.split()[0] for entry in _ROUND_VERSION.split(", ")]
        at = version.valid_from and version.valid_from.astimezone(UTC).replace(tzinfo=None)
        known = {
            "round_id": version.round_id, "version_id": version.version_id, "valid_from": at,
            RUN_ID: run_of(version),
        }  # fmt: skip
        rows.append(
            {name: known[name] if name in known else getattr(manifest, name) for name in names}
        )
    insert_rows(con, "raw.round_version", _ROUND_VERSION, rows)


def load_frames(con: duckdb.DuckDBPyConnection, frames: Mapping[str, pl.DataFrame]) -> None:
    """Make tables (``schema.name`` → frame), replacing any of that name; row order is kept."""
    for table, frame in sorted(frames.items()):
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {table.partition('.')[0]}")
        con.register("incoming", frame.to_arrow())
        con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming")  # noqa: S608
        con.unregister("incoming")


def create_empty(con: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> None:
    """Make tables of their contracts without rows, where they are not there yet."""
    for table in tables:
        declared = contract(table)
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {declared.layer}")
        columns = ", ".join(f'"{c.name}" {_SQL_TYPES[c.type]}' for c in declared.columns)
        con.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")


def sql_type(declared: str) -> str:
    """DuckDB's name of a contract's column type."""
    return _SQL_TYPES[declared]


def insert_rows(
    con: duckdb.DuckDBPyConnection, table: str, columns: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """A small table of dictionaries, one a row; ``columns`` declares names and types."""
    names = [entry.split()[0].strip('"') for entry in columns.split(", ")]
    con.execute(f"CREATE TABLE {table} ({columns})")
    if rows:
        marks = "(" + ", ".join("?" for _ in names) + ")"
        # One statement: executemany plans each row anew.
        con.execute(
            f"INSERT INTO {table} VALUES {', '.join([marks] * len(rows))}",  # noqa: S608
            [row[name] for row in rows for name in names],
        )
