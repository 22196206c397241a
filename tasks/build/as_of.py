"""Warehouses of the past: built of the versions that were valid at a moment, and kept."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from gpurank.answers.warehouse import NoData, ask, open_warehouse
from gpurank.settings import Settings
from gpurank.store.history import publications, valid_at
from gpurank.store.versions import Store
from tasks.build import assemble, publish
from tasks.pool import side_by_side

_PACKAGES = ("gpurank", "tasks", "warehouse", "expectations")


def warehouse_at(settings: Settings, when: datetime) -> Path:
    """A warehouse of the versions that were valid at a moment: the one in use, a kept or a new one.

    Raises:
        NoData: nothing was known then.
    """
    store = Store(settings.raw_dir)
    wanted = {}
    for round_id in store.rounds():
        found = valid_at(publications(store, round_id), when)
        if found is not None:
            wanted[round_id] = found.manifest.version_id
    if wanted == _held(settings.warehouse_path):
        return settings.warehouse_path
    text = repr((sorted(wanted.items()), settings.lambda_chips, settings.bootstraps, _code()))
    name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.duckdb"
    past = replace(settings, as_of=when, output=settings.as_of_dir / name)
    if not past.warehouse_path.is_file():
        build(past)
    return past.warehouse_path


def build(settings: Settings) -> None:
    """Build ``settings.output`` without an orchestrator; the warehouse in use is left alone."""
    from tasks.build.load import new_warehouse

    with publish.building(settings) as path:
        with new_warehouse(path) as con, side_by_side(settings.workers) as each:
            for step in assemble.steps(each):
                step.run(con, settings)
        publish.swap(path, settings)


def _held(path: Path) -> dict[str, str]:
    import duckdb

    try:
        with open_warehouse(path) as con:
            return dict(ask(con, "select round_id, version_id from raw.round_version").rows)
    except (NoData, duckdb.Error):
        return {}


def _code() -> list[tuple[str, int, int]]:
    """What stands for the code that a kept warehouse was built by."""
    root = Path(__file__).parents[2]
    paths = [path for name in _PACKAGES for path in sorted((root / name).rglob("*.*"))]
    kept = [path for path in paths if path.suffix in (".py", ".sql", ".yml", ".csv")]
    return [(str(p.relative_to(root)), p.stat().st_size, p.stat().st_mtime_ns) for p in kept]
