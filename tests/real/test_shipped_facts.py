"""The facts that ship are what today's reader makes of the published round."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gpurank.settings import load
from gpurank.store import rounds_lock as roundlock
from gpurank.store.versions import Store, damage, read_manifest
from tasks.ingest import shipped
from tasks.ingest.round import ingest_round

# The smallest of the published rounds: the test takes seconds.
ROUND = "v0.5"


def test_shipped_facts_are_intact_small_and_locked() -> None:
    locked = roundlock.shipped()
    size = 0
    for name, folder in shipped.shipped().items():
        manifest = read_manifest(folder)
        assert damage(folder, manifest) == ()
        assert manifest.form == "facts" and manifest.state == "complete"
        assert folder.name == manifest.version_id == locked[name].version_id
        assert locked[name].content_hash == manifest.content_hash
        assert locked[name].commit == manifest.source_commit is not None
        size += sum(path.stat().st_size for path in folder.iterdir())
    assert set(shipped.shipped()) == set(locked)
    assert size < 8_000_000


@pytest.mark.real
def test_a_round_from_its_archive_has_the_shipped_runs(shared: Path, tmp_path: Path) -> None:
    settings = load(home=tmp_path / "home", source=str(shared / "rounds"), environ={})
    ingest_round(ROUND, settings)
    (made,) = shipped.build([ROUND], Store(settings.raw_dir), tmp_path / "warehouse")
    ours = shipped.shipped()[ROUND]
    manifest = read_manifest(ours)
    # The archive leaves out the files that the copy of the repository lists as missing.
    assert made.content_hash != manifest.content_hash
    assert made.source_commit == manifest.source_commit
    theirs = tmp_path / "warehouse" / "facts" / ROUND / made.version_id
    for name in ("run.parquet", "event.parquet", "system.parquet", "scaling.parquet"):
        assert pq.read_table(theirs / name).equals(pq.read_table(ours / name)), (
            f"{name} differs: the reader changed; run `gpurank facts build`"
        )
