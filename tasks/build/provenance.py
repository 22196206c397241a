"""Which run made a row: ``run_id`` in every table of the warehouse, explained by ``lookup.run``.

Rows of ``raw.*`` carry the run that read their version, as its manifest names it. All others carry
the analysis that derived them. Its id is a hash of what it was made of (versions with their
history, code, settings), never a random one: the same input gives the same tables, byte for byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.declared.code_hash import hash_of_code
from gpurank.declared.contracts import RUN_ID
from gpurank.settings import Settings
from gpurank.store.versions import read_manifest
from tasks.build.load import Version, create_table, run_of

if TYPE_CHECKING:
    import duckdb

    from gpurank.store.history import Publication

_CODE = ("gpurank", "tasks", "warehouse", "expectations")
# The command line shows what is there, and the row counts are compared in a test: neither makes a
# table.
_NOT_CODE = ("gpurank/cli/", "expectations/row_counts.csv")
_SUFFIXES = (".py", ".sql", ".yml", ".csv")
# Numbers can differ in their last digits with these.
_LIBRARIES = ("duckdb", "numpy", "polars", "pyarrow", "scikit-learn", "scipy")


def begin(
    con: duckdb.DuckDBPyConnection,
    versions: Sequence[Version],
    history: Mapping[str, Sequence[Publication]],
    settings: Settings,
) -> str:
    """Write ``lookup.run`` and name the analysis that follows on this connection; gives its id.

    Args:
        con: the empty warehouse.
        versions: what will be loaded.
        history: the publications of each round, since marts say what changed between them.
        settings: of this run.
    """
    known = [
        (name, item.manifest.version_id, str(item.valid_from))
        for name, items in sorted(history.items())
        for item in items
        if settings.as_of is None or item.known_from <= settings.as_of
    ]
    loaded = sorted(f"{item.round_id} {item.version_id}" for item in versions)
    text = repr((loaded, known, code_hash(), _settings_text(settings)))
    run_id = f"analysis-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    con.execute(f"SET VARIABLE {RUN_ID} = '{run_id}'")
    con.execute("CREATE SCHEMA lookup")
    rows = [_ingest_row(run, versions) for run in sorted({run_of(item) for item in versions})]
    rows.append(
        {"run_id": run_id, "kind": "analysis", "logged_run_id": settings.run_id or None,
         "version_ids": loaded, "code_hash": code_hash(), "settings": _settings_text(settings),
         "libraries": _libraries()}
    )  # fmt: skip
    create_table(con, "lookup.run", rows)
    return run_id


def current(con: duckdb.DuckDBPyConnection) -> str:
    """The analysis that was begun on this connection."""
    ((name,),) = con.execute("SELECT getvariable(?)", [RUN_ID]).fetchall()
    return str(name)


@cache
def code_hash() -> str:
    """SHA-256 of what the code and declarations mean that an analysis is made by."""
    root = Path(__file__).parents[2]
    paths = [path for name in _CODE for path in sorted((root / name).rglob("*.*"))]
    named = [
        (path.relative_to(root).as_posix(), path) for path in paths if path.suffix in _SUFFIXES
    ]
    return hash_of_code((name, path) for name, path in named if not name.startswith(_NOT_CODE))


def _settings_text(settings: Settings) -> str:
    as_of = "" if settings.as_of is None else settings.as_of.isoformat()
    # Brings polars along, which a run that analyses nothing does without.
    from gpurank.method.settings import method_settings

    return repr((sorted(asdict(method_settings(settings)).items()), as_of))


def _ingest_row(run: str, versions: Sequence[Version]) -> dict[str, Any]:
    read = [item for item in versions if run_of(item) == run]
    manifests = [read_manifest(item.path) for item in read]
    return {
        "run_id": run,
        "kind": "ingest",
        "logged_run_id": manifests[0].run_id,
        "version_ids": sorted(f"{item.round_id} {item.version_id}" for item in read),
        "code_hash": " ".join(sorted({item.code_hash for item in manifests})),
        "settings": None,
        "libraries": None,
    }


def _libraries() -> str:
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
