"""Warehouses as of a past date: built from the versions that were valid then, and kept."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from flows.prefect_runtime.environment import set_defaults
from gpurank.answers.warehouse import published_versions
from gpurank.settings import Settings
from gpurank.store.history import publications, valid_at
from gpurank.store.versions import Store
from tasks.build.provenance import code_hash


def warehouse_at(settings: Settings, when: datetime) -> Path:
    """Returns a warehouse of the versions that were valid at a moment.

    That is the published one, one that was built before, or a new one.

    Raises:
        NoData: no version was valid then.
    """
    store = Store(settings.raw_dir)
    wanted = {}
    for round_id in store.rounds():
        publication = valid_at(publications(store, round_id), when)
        if publication is not None:
            wanted[round_id] = publication.manifest.version_id
    if wanted == published_versions(settings.warehouse_path):
        return settings.warehouse_path
    text = repr((sorted(wanted.items()), settings.lambda_chips, settings.bootstraps, code_hash()))
    name = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.duckdb"
    past = replace(settings, as_of=when, output=settings.as_of_dir / name)
    if not past.warehouse_path.is_file():
        build(past)
    return past.warehouse_path


def build(settings: Settings) -> None:
    """Build the warehouse of the settings by the stages of `gpurank analyze`, outside of Prefect.

    The caller holds the run lock where that is the published warehouse.
    """
    set_defaults(settings.home)
    from flows.analyze import build_warehouse

    build_warehouse(settings)
