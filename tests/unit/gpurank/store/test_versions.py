"""Versions are immutable, whole, and reached by one pointer."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from gpurank.declared.rounds import UnknownRound
from gpurank.store import versions as module
from gpurank.store.versions import Manifest, Store, StoreError, read_manifest, version_id


def _manifest(content: str = "c" * 64, code: str = "d" * 64, state: str = "complete") -> Manifest:
    return Manifest(
        "v9.9", version_id(content, code), state, "full", "tree", "somewhere", None, "f1", content,
        code, "2030-01-01T00:00:00+00:00", 1, 3, counts={"run": 1},
    )  # fmt: skip


def _build(store: Store, manifest: Manifest, data: bytes = b"one") -> Manifest:
    with store.building("v9.9") as folder:
        (folder / "run.parquet").write_bytes(data)
        return store.seal(folder, manifest)


def test_a_sealed_version_holds_its_files_and_their_hashes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sealed = _build(store, _manifest())
    assert sealed.version_id == "cccccccccccc-dddddddd"
    assert sealed.hashes == {"run.parquet": hashlib.sha256(b"one").hexdigest()}
    folder = store.folder("v9.9", sealed.version_id)
    assert {path.name for path in folder.iterdir()} == {"run.parquet", "manifest.json"}
    assert read_manifest(folder) == sealed
    assert store.rounds() == () and store.latest("v9.9") is None
    store.publish(sealed)
    assert store.rounds() == ("v9.9",) and store.latest("v9.9") == sealed


def test_the_same_version_is_not_written_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = _build(store, _manifest())
    again = _build(store, replace(_manifest(), taken_at="2031-01-01T00:00:00+00:00"), b"two")
    assert again == first
    assert (store.folder("v9.9", first.version_id) / "run.parquet").read_bytes() == b"one"
    assert len(store.versions("v9.9")) == 1


def test_a_failed_version_is_kept_but_never_published(tmp_path: Path) -> None:
    store = Store(tmp_path)
    good = _build(store, _manifest())
    store.publish(good)
    bad = _build(store, replace(_manifest("b" * 64, state="failed"), failure="no rows"))
    with pytest.raises(StoreError, match="not complete"):
        store.publish(bad)
    assert store.latest("v9.9") == good
    assert {item.state for item in store.versions("v9.9")} == {"complete", "failed"}
    mended = _build(store, _manifest("b" * 64), b"two")
    assert mended.state == "complete"


def test_an_aborted_build_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(OSError), store.building("v9.9"):
        raise OSError(28, "No space left on device")
    assert list((tmp_path / "v9.9").iterdir()) == []


def test_sweep_removes_what_a_dead_run_left_and_nothing_else(tmp_path: Path) -> None:
    store = Store(tmp_path)
    good = _build(store, _manifest())
    store.publish(good)
    left = tmp_path / "v9.9" / ".building-1-dead"
    left.mkdir()
    (left / "event.parquet").write_bytes(b"half")
    (tmp_path / "v9.9" / ".latest.1.tmp").write_text("half")
    assert store.versions("v9.9") == (good,)
    assert store.sweep() == 2
    assert store.latest("v9.9") == good and store.damage(good) == ()


def test_damage_is_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sealed = _build(store, _manifest())
    path = store.folder("v9.9", sealed.version_id) / "run.parquet"
    path.write_bytes(b"two")
    assert "other bytes" in store.damage(sealed)[0]
    path.unlink()
    assert "missing" in store.damage(sealed)[0]


def test_a_pointer_to_nowhere_is_an_error_not_no_data(tmp_path: Path) -> None:
    store = Store(tmp_path)
    _build(store, _manifest())
    (tmp_path / "v9.9" / "latest").write_text("nowhere\n")
    with pytest.raises(StoreError, match="not a readable manifest"):
        store.latest("v9.9")


def test_a_known_source_is_recognised_only_for_the_same_code(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sealed = _build(store, _manifest())
    store.remember("v9.9", "f1", sealed.version_id)
    store.remember("v9.9", "f2", sealed.version_id)
    assert store.known("v9.9", "f1", "d" * 64) == sealed
    assert store.known("v9.9", "f2", "d" * 64) == sealed
    assert store.known("v9.9", "f3", "d" * 64) is None
    assert store.known("v9.9", "f1", "e" * 64) is None
    (tmp_path / "v9.9" / "seen.json").write_text("{half")
    assert store.known("v9.9", "f1", "d" * 64) is None


def test_a_round_name_cannot_leave_the_store(tmp_path: Path) -> None:
    with pytest.raises(UnknownRound), Store(tmp_path).building("../x"):
        pass


def test_small_files_are_replaced_whole(tmp_path: Path) -> None:
    module.write_durably(tmp_path / "latest", "one\n")
    module.write_durably(tmp_path / "latest", "two\n")
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]
    assert (tmp_path / "latest").read_text() == "two\n"
