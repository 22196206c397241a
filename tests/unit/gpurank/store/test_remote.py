"""The protocol of a data folder on object storage, on a folder that stands for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpurank.settings import Settings
from gpurank.store import remote
from gpurank.store.remote import Place
from gpurank.store.run_lock import LockHeld
from gpurank.store.versions import MANIFEST, Manifest, Store, StoreError

ROUND = "v9.9"


class Disk:
    """A disk that makes folders as an object store does: by naming what is in them."""

    def __init__(self) -> None:
        from pyarrow.fs import LocalFileSystem

        self.disk = LocalFileSystem()
        self.written: list[str] = []

    def open_output_stream(self, path: str) -> Any:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.written.append(path)
        return self.disk.open_output_stream(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.disk, name)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The shared folder; any settings with an address mean it."""
    place = Place(Disk(), str(tmp_path / "bucket"))
    monkeypatch.setattr(remote, "place", lambda settings: place if settings.remote else None)
    monkeypatch.setattr(remote.time, "sleep", lambda _: None)
    # Claims of one second go by name; without the waiting, the first must have the first name.
    names = (SimpleNamespace(hex=f"{number:032x}") for number in count())
    monkeypatch.setattr(remote.uuid, "uuid4", lambda: next(names))
    yield place


def machine(tmp_path: Path, name: str) -> Settings:
    home = tmp_path / name
    home.mkdir()
    return Settings(home, remote="s3://bucket", run_id=name)


def version(settings: Settings, content: str) -> str:
    """A version of the round made on one machine, in use there."""
    store = Store(settings.raw_dir)
    manifest = Manifest(
        ROUND, f"{content}-1", "complete", "full", "tree", "u", None, content, content, "k",
        "2030-01-01T00:00:00+00:00", 0, 0,
    )  # fmt: skip
    with store.building(ROUND) as folder:
        (folder / "run.parquet").write_bytes(content.encode())
        sealed = store.seal(folder, manifest)
    store.publish(sealed)
    return sealed.version_id


def in_use(settings: Settings) -> str | None:
    found = Store(settings.raw_dir).latest(ROUND)
    return found.version_id if found else None


def test_a_folder_on_disk_is_no_business_of_this(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    remote.pull(settings)
    remote.pull_round(settings, ROUND)
    remote.push_round(settings, ROUND)
    remote.push_records(settings)
    remote.refresh(settings)
    remote.remove(settings, ROUND, "a-1")
    with remote.claimed(settings, "x"):
        assert remote.sweep(settings) == 0
    assert list(tmp_path.iterdir()) == []


def test_an_address_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used as a data folder"):
        remote.place(Settings(tmp_path, remote="nonsense://x"))


def test_what_one_machine_sent_another_has(tmp_path: Path, there: Place) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    name = version(one, "a")
    (one.home / "watch.json").write_text("{}")
    (one.home / "warehouse.duckdb").write_bytes(b"w")
    remote.push_round(one, ROUND)
    remote.push_records(one)
    sent = [path.removeprefix(f"{there.root}/") for path in there.filesystem.written]
    where = f"raw/{ROUND}/{name}"
    # A version is there when its manifest is, and in use when the pointer names it.
    assert sent.index(f"{where}/run.parquet") < sent.index(f"{where}/{MANIFEST}")
    assert sent.index(f"{where}/{MANIFEST}") < sent.index(f"raw/{ROUND}/latest")
    remote.pull(two)
    assert in_use(two) == name
    assert (Store(two.raw_dir).folder(ROUND, name) / "run.parquet").read_bytes() == b"a"
    assert (two.home / "watch.json").read_text() == "{}"
    assert two.warehouse_path.read_bytes() == b"w"
    # Nothing is sent twice: a version never changes.
    there.filesystem.written.clear()
    remote.push_round(two, ROUND)
    assert not [path for path in there.filesystem.written if where in path]


def test_a_warehouse_of_the_past_is_not_sent(tmp_path: Path, there: Place) -> None:
    one = machine(tmp_path, "one")
    (one.home / "warehouse.duckdb").write_bytes(b"w")
    remote.push_records(Settings(one.home, remote="s3://bucket", output=tmp_path / "past.duckdb"))
    assert there.read("warehouse.duckdb") is None


def test_the_warehouse_is_fetched_when_it_is_another(tmp_path: Path, there: Place) -> None:
    settings = machine(tmp_path, "one")
    remote.refresh(settings)
    assert not settings.warehouse_path.exists()
    there.write("warehouse.duckdb", b"old")
    remote.refresh(settings)
    settings.warehouse_path.write_bytes(b"mine")
    remote.refresh(settings)
    assert settings.warehouse_path.read_bytes() == b"mine"
    there.write("warehouse.duckdb", b"newer")
    remote.refresh(settings)
    assert settings.warehouse_path.read_bytes() == b"newer"


def test_half_a_version_is_not_there_and_is_swept(tmp_path: Path, there: Place) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    version(one, "a")
    remote.push_round(one, ROUND)
    there.write(f"raw/{ROUND}/b-1/run.parquet", b"half")
    remote.pull(two)
    assert [path.name for path in (two.raw_dir / ROUND).glob("*-1")] == ["a-1"]
    assert (remote.sweep(one), remote.sweep(one)) == (1, 0)
    assert [info.base_name for info in there.names(f"raw/{ROUND}") if not info.is_file] == ["a-1"]


def test_a_pointer_to_nothing_is_told(tmp_path: Path, there: Place) -> None:
    there.write(f"raw/{ROUND}/latest", b"gone-1\n")
    with pytest.raises(StoreError, match="names gone-1, which is not there"):
        remote.pull(machine(tmp_path, "one"))


def test_what_was_removed_is_not_sent_again(tmp_path: Path, there: Place) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    old, new = version(one, "a"), version(one, "b")
    remote.push_round(one, ROUND)
    remote.pull(two)
    with pytest.raises(StoreError, match="is in use; it stays"):
        remote.remove(one, ROUND, new)
    remote.remove(one, ROUND, old)
    remote.remove(one, ROUND, old)
    remote.push_round(two, ROUND)
    assert not there.exists(f"raw/{ROUND}/{old}/{MANIFEST}")
    # Where its bytes come back and it is in use again, it is a version like any other.
    Store(two.raw_dir).publish(_held(two, old))
    remote.push_round(two, ROUND)
    assert there.exists(f"raw/{ROUND}/{old}/{MANIFEST}")
    assert there.read(f"raw/{ROUND}/pruned.json") == b"[]"


def _held(settings: Settings, name: str) -> Manifest:
    (found,) = [item for item in Store(settings.raw_dir).versions(ROUND) if item.version_id == name]
    return found


def test_one_run_at_a_time(tmp_path: Path, there: Place) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    with remote.claimed(one, "gpurank run"):
        with pytest.raises(LockHeld, match="gpurank run"), remote.claimed(two, "gpurank prune"):
            pass
        assert len(there.names("claims")) == 1
    with remote.claimed(two, "gpurank prune"):
        pass
    assert there.names("claims") == []


def test_a_dead_runs_claim_ends(tmp_path: Path, there: Place) -> None:
    there.write("claims/dead.json", b"{}")
    path = Path(there.root, "claims", "dead.json")
    long_ago = path.stat().st_mtime - remote.CLAIM_ENDS_S - 10
    os.utime(path, (long_ago, long_ago))
    with remote.claimed(machine(tmp_path, "one"), "gpurank run"):
        assert not path.exists()
