"""The protocol of a data folder on object storage, on obstore's store in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from gpurank.settings import Settings
from gpurank.store import claim as claims
from gpurank.store import remote
from gpurank.store.claim import CLAIM
from gpurank.store.object_folder import ObjectFolder, StoredObject
from gpurank.store.run_lock import LockHeld
from gpurank.store.versions import MANIFEST, Manifest, Store, StoreError

ROUND = "v9.9"


class Recorder(ObjectFolder):
    """A folder that keeps the names of the objects written to it, in order."""

    written: list[str] = []  # noqa: RUF012 (cleared by the fixture)

    def write(self, name: str, data: bytes) -> None:
        self.written.append(name)
        super().write(name, data)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """The shared folder; any settings with an address mean it."""
    folder = Recorder("s3://bucket", MemoryStore())
    folder.written.clear()
    monkeypatch.setattr(
        remote, "remote_folder", lambda settings: folder if settings.remote else None
    )
    yield folder


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


def test_what_one_machine_sent_another_has(tmp_path: Path, there: Recorder) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    name = version(one, "a")
    (one.home / "watch.json").write_text("{}")
    (one.home / "warehouse.duckdb").write_bytes(b"w")
    remote.push_round(one, ROUND)
    remote.push_records(one)
    sent = list(there.written)
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
    there.written.clear()
    remote.push_round(two, ROUND)
    assert not [path for path in there.written if where in path]


def test_a_warehouse_of_the_past_is_not_sent(tmp_path: Path, there: Recorder) -> None:
    one = machine(tmp_path, "one")
    (one.home / "warehouse.duckdb").write_bytes(b"w")
    remote.push_records(Settings(one.home, remote="s3://bucket", output=tmp_path / "past.duckdb"))
    assert there.read("warehouse.duckdb") is None


def test_the_warehouse_is_fetched_when_it_is_another(tmp_path: Path, there: Recorder) -> None:
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


def test_half_a_version_is_not_there_and_is_swept(tmp_path: Path, there: Recorder) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    version(one, "a")
    remote.push_round(one, ROUND)
    there.write(f"raw/{ROUND}/b-1/run.parquet", b"half")
    remote.pull(two)
    assert [path.name for path in (two.raw_dir / ROUND).glob("*-1")] == ["a-1"]
    assert (remote.sweep(one), remote.sweep(one)) == (1, 0)
    assert there.folders(f"raw/{ROUND}") == ["a-1"]


def test_a_pointer_to_nothing_names_it(tmp_path: Path, there: Recorder) -> None:
    there.write(f"raw/{ROUND}/latest", b"gone-1\n")
    with pytest.raises(StoreError, match="names gone-1, which is not there"):
        remote.pull(machine(tmp_path, "one"))


def test_what_was_removed_is_not_sent_again(tmp_path: Path, there: Recorder) -> None:
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
    (held,) = [v for v in Store(two.raw_dir).versions(ROUND) if v.version_id == old]
    Store(two.raw_dir).publish(held)
    remote.push_round(two, ROUND)
    assert there.exists(f"raw/{ROUND}/{old}/{MANIFEST}")
    assert there.read(f"raw/{ROUND}/pruned.json") == b"[]"


def test_one_run_at_a_time(tmp_path: Path, there: Recorder) -> None:
    one, two = machine(tmp_path, "one"), machine(tmp_path, "two")
    for _ in range(2):
        with remote.claimed(one, "gpurank run"):
            with (
                pytest.raises(LockHeld, match=r"s3://bucket is held by .*gpurank run.*5 minutes"),
                remote.claimed(two, "gpurank prune"),
            ):
                pass
            holder = remote.remote_holder(two)
            assert holder is not None and holder[0].command == "gpurank run"
        assert remote.remote_holder(two) is None


def test_of_many_runs_that_start_at_once_one_is_first(there: Recorder) -> None:
    barrier, ended = threading.Barrier(8), threading.Event()
    outcomes: list[str] = []

    def run() -> None:
        barrier.wait()
        try:
            with claims.hold_claim(there, "gpurank run"):
                ended.wait(5)
                outcomes.append("held")
        except LockHeld:
            outcomes.append("refused")
        if len(outcomes) == 7:
            ended.set()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["held"] + ["refused"] * 7


class Aged(Recorder):
    """A store on which every claim was last written so long ago."""

    age = timedelta(seconds=claims.LEASE_S + 1)

    def read_tagged(self, name: str) -> StoredObject | None:
        stored = super().read_tagged(name)
        if stored is None or name != CLAIM:
            return stored
        return StoredObject(stored.data, stored.tag, stored.modified_at - self.age)


def test_a_dead_runs_claim_is_taken_over_and_its_run_stops(there: Recorder) -> None:
    with claims.hold_claim(there, "gpurank run") as first:
        with claims.hold_claim(Aged("s3://bucket", there.store), "gpurank watch"):
            first.renew()
            assert first.is_lost
            with pytest.raises(StoreError, match="no longer claimed by this run"):
                first.check()
        # The first one's end does not free what is not its own.
        with claims.hold_claim(there, "gpurank watch"):
            first.release()
            assert claims.claim_holder(there) is not None


def test_a_living_run_renews_its_claim(there: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "RENEW_S", 0.01)
    with claims.hold_claim(there, "gpurank run") as claim:
        give_up = time.monotonic() + 10
        while claim.renewals < 3 and time.monotonic() < give_up:
            time.sleep(0.01)
        assert claim.renewals >= 3 and not claim.is_lost


def test_a_store_that_does_not_answer_for_a_while_ends_no_claim(there: Recorder) -> None:
    class Silent(Recorder):
        def replace(self, *_: Any) -> None:
            raise StoreError("no answer")

    with claims.hold_claim(there, "gpurank run") as claim:
        claim.folder = Silent("s3://bucket", there.store)
        claim.renew()
        assert not claim.is_lost
        claim.folder = there
        claim.renew()
        assert not claim.is_lost


def test_deleting_the_claim_ends_it_and_stops_its_run(tmp_path: Path, there: Recorder) -> None:
    one = machine(tmp_path, "one")
    version(one, "a")
    with remote.claimed(one, "gpurank run"):
        there.delete(CLAIM)
        remote._claims[there.address].renew()
        for write in (remote.push_records, lambda _: remote.push_round(one, ROUND)):
            with pytest.raises(StoreError, match="no longer claimed"):
                write(one)
        with remote.claimed(machine(tmp_path, "two"), "gpurank run"):
            pass


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("s3://KEY:SECRET@bucket/x", "name or password"),
        ("file:///srv/data", "not an object store"),
        ("s3://bucket/x?no_such_setting=1", "cannot be used"),
        ("nonsense://x", "cannot be used as a data folder"),
    ],
)
def test_an_address_that_cannot_be_used(tmp_path: Path, address: str, reason: str) -> None:
    with pytest.raises(StoreError, match=reason) as caught:
        remote.remote_folder(Settings(tmp_path, remote=address))
    assert "SECRET" not in str(caught.value) and "\n" not in str(caught.value)
