"""Which run made a row: ``run_id`` in every table of the warehouse, explained by ``lookup.run``.

Rows of ``raw.*`` carry the run that read their version, as its manifest names it. All others carry
the analysis that derived them. Its id is a hash of its inputs (versions with their history), code
and settings, never a random one: the same input gives the same tables, byte for byte, and an
analysis that would get the id of the published one need not be run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers.warehouse import NoData, ask, open_warehouse
from gpurank.declared.code_hash import hash_of_code
from gpurank.declared.contracts import RUN_ID
from gpurank.settings import Settings
from gpurank.store.history import Publication, publications, valid_at
from gpurank.store.versions import Store, read_manifest
from tasks.build.load import Version, create_table, run_of

if TYPE_CHECKING:
    import duckdb

_ROOT = Path(__file__).parents[2]
_CODE = ("gpurank", "tasks", "warehouse", "expectations")
# The command line shows what is there, and a test compares the row counts: neither makes a table.
_NOT_CODE = ("gpurank/cli/", "expectations/row_counts.csv")
# The stages of an analysis, in order.
_STAGES = "flows/analyze.py"
_SUFFIXES = (".py", ".sql", ".yml", ".csv")
# Numbers can differ in their last digits with these.
_LIBRARIES = ("duckdb", "numpy", "polars", "pyarrow", "scikit-learn", "scipy")
_PUBLISHED = "select run_id, libraries from lookup.run where kind = 'analysis'"


@dataclass(frozen=True, slots=True)
class Inputs:
    """What an analysis reads: one version per round, and each round's history.

    Attributes:
        versions: the version of each round that is loaded.
        history: the publications of each loaded round, oldest first; marts say what changed
            between them.
    """

    versions: tuple[Version, ...]
    history: Mapping[str, Sequence[Publication]]


def read_inputs(settings: Settings) -> Inputs:
    """Returns each round's version in use, or the one that was valid at ``settings.as_of``.

    Raises:
        NoData: the store holds no round, or none that was valid then.
    """
    store = Store(settings.raw_dir)
    versions: list[Version] = []
    history: dict[str, Sequence[Publication]] = {}
    for round_id in store.rounds():
        published = publications(store, round_id)
        chosen = valid_at(published, settings.as_of) if settings.as_of else published[-1]
        if chosen is not None:
            version_id = chosen.manifest.version_id
            folder = store.folder(round_id, version_id)
            versions.append(Version(round_id, version_id, folder, chosen.valid_from))
            history[round_id] = published
    if not versions and store.rounds():
        raise NoData(f"nothing was known by {settings.as_of}; `gpurank rounds` shows since when")
    if not versions:
        raise NoData(
            f"no round has been ingested into {settings.home}; "
            "`gpurank run` takes the shipped ones, `gpurank run --source …` others"
        )
    return Inputs(tuple(versions), history)


def analysis_id(inputs: Inputs, settings: Settings) -> str:
    """Returns the id of the analysis of these inputs, by this code, with these settings."""
    history = [
        (round_id, publication.manifest.version_id, str(publication.valid_from))
        for round_id, published in sorted(inputs.history.items())
        for publication in published
        if settings.as_of is None or publication.known_from <= settings.as_of
    ]
    text = repr((_version_names(inputs.versions), history, code_hash(), _settings_text(settings)))
    return f"analysis-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def is_up_to_date(settings: Settings) -> bool:
    """Returns whether an analysis would build the warehouse that is published already.

    It would where inputs, settings and code are the same, and the libraries that the last digits
    depend on have the same versions.
    """
    import duckdb

    try:
        expected = (analysis_id(read_inputs(settings), settings), _library_versions())
        with open_warehouse(settings.warehouse_path) as con:
            return ask(con, _PUBLISHED).rows == (expected,)
    except (NoData, duckdb.Error):
        return False


def record_run(con: duckdb.DuckDBPyConnection, inputs: Inputs, settings: Settings) -> str:
    """Write ``lookup.run`` and name the analysis that follows on this connection.

    Args:
        con: the empty warehouse.
        inputs: what will be loaded.
        settings: of this run.

    Returns:
        The id of the analysis.
    """
    run_id = analysis_id(inputs, settings)
    con.execute(f"SET VARIABLE {RUN_ID} = '{run_id}'")
    con.execute("CREATE SCHEMA lookup")
    runs = sorted({run_of(item) for item in inputs.versions})
    rows = [_ingest_row(run, inputs.versions) for run in runs]
    rows.append(
        {
            "run_id": run_id,
            "kind": "analysis",
            "logged_run_id": settings.run_id or None,
            "version_ids": _version_names(inputs.versions),
            "code_hash": code_hash(),
            "settings": _settings_text(settings),
            "libraries": _library_versions(),
        }
    )
    create_table(con, "lookup.run", rows)
    return run_id


def current_analysis(con: duckdb.DuckDBPyConnection) -> str:
    """Returns the id of the analysis that runs on this connection."""
    ((run_id,),) = con.execute("SELECT getvariable(?)", [RUN_ID]).fetchall()
    return str(run_id)


@cache
def code_hash() -> str:
    """Returns the SHA-256 of the meaning of all code and declarations that an analysis runs."""
    paths = [path for folder in _CODE for path in sorted((_ROOT / folder).rglob("*.*"))]
    named = [(path.relative_to(_ROOT).as_posix(), path) for path in paths]
    chosen = [
        (name, path)
        for name, path in named
        if path.suffix in _SUFFIXES and not name.startswith(_NOT_CODE)
    ]
    return hash_of_code([*chosen, (_STAGES, _ROOT / _STAGES)])


def _version_names(versions: Sequence[Version]) -> list[str]:
    return sorted(f"{item.round_id} {item.version_id}" for item in versions)


def _settings_text(settings: Settings) -> str:
    as_of = "" if settings.as_of is None else settings.as_of.isoformat()
    # Imports polars, which a run that analyses nothing does without.
    from gpurank.method.settings import method_settings

    return repr((sorted(asdict(method_settings(settings)).items()), as_of))


def _ingest_row(run: str, versions: Sequence[Version]) -> dict[str, Any]:
    read_by_run = [item for item in versions if run_of(item) == run]
    manifests = [read_manifest(item.path) for item in read_by_run]
    return {
        "run_id": run,
        "kind": "ingest",
        "logged_run_id": manifests[0].run_id,
        "version_ids": _version_names(read_by_run),
        "code_hash": " ".join(sorted({manifest.code_hash for manifest in manifests})),
        "settings": None,
        "libraries": None,
    }


def _library_versions() -> str:
    texts = []
    for name in _LIBRARIES:
        try:
            texts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(texts)
