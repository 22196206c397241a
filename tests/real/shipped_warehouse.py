"""Shipped rounds up to the metrics, in memory, for the tests of the method."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pytest

from gpurank.store.versions import read_manifest
from tasks.build.identity import load_identity
from tasks.build.load import Version, load_raw
from tasks.build.lookups import load_lookups
from tasks.build.models import run_layer
from tasks.ingest.shipped import shipped


def shipped_warehouse(
    rounds: Sequence[str] | None, benchmark: str | None
) -> duckdb.DuckDBPyConnection:
    """Returns a warehouse of these rounds (None: all) and benchmark (None: all)."""
    facts = shipped()
    names = sorted(facts) if rounds is None else rounds
    if not facts or not set(names) <= set(facts):
        pytest.skip("the facts of these rounds do not ship with this checkout")
    con = duckdb.connect()
    load_raw(con, [Version(n, read_manifest(facts[n]).version_id, facts[n]) for n in names])
    load_lookups(con)
    load_identity(con)
    for layer in ("staging", "core", "metrics"):
        run_layer(con, layer)
    if benchmark is not None:
        con.execute("DELETE FROM metrics.configuration WHERE benchmark <> ?", [benchmark])
    return con
