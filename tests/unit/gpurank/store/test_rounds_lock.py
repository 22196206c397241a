"""rounds.lock.yml moves only when the bytes of a round do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpurank.store import rounds_lock as roundlock
from gpurank.store.versions import Manifest

MANIFEST = Manifest(
    round_id="v10.0", version_id="a-b", state="complete", form="full", source_kind="git",
    source_uri="u", source_commit="c1", fingerprint="f", content_hash="h", code_hash="k",
    taken_at="2030-01-01T00:00:00+00:00", file_count=3, byte_count=40,
)  # fmt: skip


def test_entries_are_kept_ordered_and_rewritten_only_for_new_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rounds.lock.yml"
    roundlock.write(path, [MANIFEST, replace(MANIFEST, round_id="v3.1")])
    text = path.read_text()
    assert text.index("v3.1:") < text.index("v10.0:")
    written = path.stat().st_mtime_ns
    roundlock.write(path, [replace(MANIFEST, taken_at="2031-01-01T00:00:00+00:00")])
    assert path.read_text() == text and path.stat().st_mtime_ns == written
    roundlock.write(path, [replace(MANIFEST, content_hash="h2", source_commit="c2")])
    found = roundlock.read(path)
    assert found["v10.0"].content_hash == "h2" and found["v10.0"].commit == "c2"
    assert found["v3.1"].content_hash == "h"
    assert (found["v10.0"].files, found["v10.0"].bytes) == (3, 40)


def test_a_damaged_or_missing_file_holds_no_entries(tmp_path: Path) -> None:
    path = tmp_path / "rounds.lock.yml"
    assert roundlock.read(path) == {}
    path.write_text("v1.0: [half")
    assert roundlock.read(path) == {}
