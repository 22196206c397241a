"""A data folder on an S3-compatible server on loopback: whole or not at all, as on disk."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.as_of import build
from gpurank.settings import Settings, load
from gpurank.store import claim, remote
from gpurank.store.object_folder import ObjectFolder
from gpurank.store.run_lock import LockHeld
from gpurank.store.versions import Store, StoreError
from tasks.ingest.round import ingest_round
from tasks.upkeep import prune

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Host and port of an S3-compatible server on loopback, shared by these tests."""
    pytest.importorskip("moto.server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    log_path = tmp_path_factory.mktemp("s3") / "server.log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", address[10:]]
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        give_up = time.monotonic() + 60
        while True:
            with suppress(OSError):
                urllib.request.urlopen(f"http://{address}/", timeout=5).close()
                break
            assert time.monotonic() < give_up, log_path.read_text()
            time.sleep(0.2)
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Address of an empty bucket of its own."""
    for name, value in (("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s"),
                        ("AWS_EC2_METADATA_DISABLED", "true")):  # fmt: skip
        monkeypatch.setenv(name, value)
    name = f"store-{uuid.uuid4().hex}"
    request = urllib.request.Request(f"http://{server}/{name}", method="PUT")
    urllib.request.urlopen(request, timeout=30).close()
    return f"s3://{name}/gpurank?scheme=http&endpoint_override={server}&region=us-east-1"


def at(bucket: str, copy: Path, source: Path | None = None) -> Settings:
    """A machine of its own: the same address, another local copy."""
    settings = load(home=bucket, source=str(source) if source else None, environ={
        "GPURANK_CACHE": str(copy)
    })  # fmt: skip
    assert settings.remote == bucket and str(settings.home).startswith(str(copy))
    return settings


def test_another_machine_reads_what_one_wrote(bucket: str, mirror: Path, tmp_path: Path) -> None:
    first, second = at(bucket, tmp_path / "one", mirror), at(bucket, tmp_path / "two")
    disk = load(home=tmp_path / "disk", source=str(mirror), environ={})
    for name in ("v3.0", "v4.0"):
        ingest_round(name, first)
        ingest_round(name, disk)
        remote.push_round(first, name)
    build(first)
    remote.push_records(first)
    remote.pull(second)
    for name in ("v3.0", "v4.0"):
        here, there, plain = (Store(s.raw_dir).latest(name) for s in (first, second, disk))
        assert here == there and there is not None and plain is not None
        assert Store(second.raw_dir).damage(there) == ()
        assert (there.version_id, there.hashes) == (plain.version_id, plain.hashes)
    assert second.warehouse_path.read_bytes() == first.warehouse_path.read_bytes()


def test_a_version_without_its_manifest_is_not_there(
    bucket: str, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = at(bucket, tmp_path / "one", mirror), at(bucket, tmp_path / "two")
    old = ingest_round("v3.0", first)
    remote.push_round(first, "v3.0")
    shutil.rmtree(mirror / "training_results_v3.0" / "Acme" / "systems")
    new = ingest_round("v3.0", replace(first, accept_shrink=True))
    written: list[str] = []
    limit = 0
    real = ObjectFolder.write

    def dies(self: ObjectFolder, name: str, data: bytes) -> None:
        if len(written) == limit:
            raise OSError("connection lost")
        written.append(name)
        real(self, name, data)

    monkeypatch.setattr(ObjectFolder, "write", dies)
    for after in range(0, 12, 3):
        limit = after
        written.clear()
        with pytest.raises(OSError, match="connection lost"):
            remote.push_round(first, "v3.0")
        remote.pull(second)
        latest = Store(second.raw_dir).latest("v3.0")
        assert latest is not None and latest.version_id == old.version_id, written
        assert Store(second.raw_dir).damage(latest) == ()
    monkeypatch.undo()
    for name, value in (("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")):
        monkeypatch.setenv(name, value)
    remote.push_round(first, "v3.0")
    remote.pull(second)
    latest = Store(second.raw_dir).latest("v3.0")
    assert latest is not None and latest.version_id == new.version_id


def versions(mirror: Path, machine: Settings, count: int) -> list[str]:
    """So many versions of v3.0, one after the other in use; oldest first."""
    folder = mirror / "training_results_v3.0" / "Acme" / "results" / "acme_n1" / "resnet"
    found = []
    for number in range(count):
        (folder / "scaling.json").write_text(f'{{"scaling_factor": 1.{number}}}')
        found.append(str(ingest_round("v3.0", machine).version_id))
        remote.push_round(machine, "v3.0")
    return found


def there(machine: Settings) -> dict[str, set[str]]:
    """Folders of versions on the store, and what is in each."""
    folder = remote.remote_folder(machine)
    assert folder is not None
    return {name: set(folder.files(f"raw/v3.0/{name}")) for name in folder.folders("raw/v3.0")}


def without_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prune what was in use today, too."""
    monkeypatch.setattr(prune, "_GRACE", timedelta(0))


def prune_there(machine: Settings, keep: int) -> list[str]:
    with remote.claimed(machine, "gpurank prune"):
        remote.pull(machine)
        remote.sweep(machine)
        chosen = prune.candidates(machine, keep)
        prune.remove(machine, chosen)
    return [item.version_id for item in chosen]


def test_pruned_versions_go_after_a_day_and_no_machine_sends_them_again(
    bucket: str, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (at(bucket, tmp_path / name, mirror) for name in ("one", "two", "three"))
    old, middle, new = versions(mirror, first, 3)
    remote.pull(second)
    assert prune_there(first, keep=1) == []  # they were in use today
    without_grace(monkeypatch)
    assert prune_there(first, keep=2) == [old]
    assert set(there(first)) == {middle, new}
    assert not (first.raw_dir / "v3.0" / old).exists()
    # The second machine still has it, and keeps what it has.
    assert (second.raw_dir / "v3.0" / old).is_dir()
    remote.push_round(second, "v3.0")
    remote.pull(third)
    assert set(there(first)) == {middle, new}
    latest = Store(third.raw_dir).latest("v3.0")
    assert latest is not None and latest.version_id == new
    assert Store(third.raw_dir).damage(latest) == ()
    with pytest.raises(StoreError, match="in use"):
        remote.remove(second, "v3.0", new)
    # Bytes that come back are sent again.
    assert versions(mirror, first, 1) == [old]
    assert set(there(first)) == {old, middle, new}


def test_a_prune_that_dies_leaves_whole_versions_and_the_next_one_ends_it(
    bucket: str, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = at(bucket, tmp_path / "one", mirror), at(bucket, tmp_path / "two")
    old, new = versions(mirror, first, 2)
    without_grace(monkeypatch)

    def dies(*_: Any) -> None:
        raise OSError("connection lost")

    for holder, step in ((remote, "_write_pruned"), (ObjectFolder, "delete_folder")):
        with monkeypatch.context() as broken, pytest.raises(OSError, match="connection lost"):
            broken.setattr(holder, step, dies)
            prune_there(first, keep=1)
        shutil.rmtree(second.home, ignore_errors=True)
        remote.pull(second)
        latest = Store(second.raw_dir).latest("v3.0")
        assert latest is not None and latest.version_id == new
        for version in Store(second.raw_dir).versions("v3.0"):
            assert Store(second.raw_dir).damage(version) == ()
    assert "run.parquet" in there(first)[old] and "manifest.json" not in there(first)[old]
    # From another machine, that never saw it.
    assert prune_there(second, keep=1) == []
    assert set(there(first)) == {new}
    assert prune_there(first, keep=1) == [old]
    assert {path.name for path in (first.raw_dir / "v3.0").iterdir() if path.is_dir()} == {new}


def test_a_machine_that_fetches_what_is_replaced_and_pruned_gets_the_new_version(
    bucket: str, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = at(bucket, tmp_path / "one", mirror), at(bucket, tmp_path / "two")
    (old,) = versions(mirror, first, 1)
    without_grace(monkeypatch)
    real, replaced = remote._fetch, []

    def slow(folder: ObjectFolder, name: str, target: Path) -> None:
        real(folder, name, target)
        if name.endswith("manifest.json") and not replaced:
            replaced.append(True)
            (mirror / "training_results_v3.0" / "Acme" / "README.md").write_text("changed")
            (mirror / "training_results_v3.0" / "Zeta" / "systems" / "zeta_n4.json").write_text(
                "{}"
            )
            ingest_round("v3.0", first)
            remote.push_round(first, "v3.0")
            assert prune_there(first, keep=1) == [old]

    monkeypatch.setattr(remote, "_fetch", slow)
    remote.pull_round(second, "v3.0")
    found = Store(second.raw_dir).latest("v3.0")
    assert replaced and found is not None and found.version_id != old
    assert Store(second.raw_dir).damage(found) == ()
    assert {path.name for path in (second.raw_dir / "v3.0").iterdir() if path.is_dir()} == {
        found.version_id
    }


def test_a_pointer_to_a_version_that_is_not_there_is_told(
    bucket: str, mirror: Path, tmp_path: Path
) -> None:
    first, second = at(bucket, tmp_path / "one", mirror), at(bucket, tmp_path / "two")
    (old,) = versions(mirror, first, 1)
    folder = remote.remote_folder(first)
    assert folder is not None
    folder.delete(f"raw/v3.0/{old}/manifest.json")
    with pytest.raises(StoreError, match=f"latest names {old}, which is not there"):
        remote.pull(second)


def test_the_command_prunes_there(
    bucket: str, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from gpurank.cli import main as cli

    first = at(bucket, tmp_path / "one", mirror)
    old, new = versions(mirror, first, 2)
    without_grace(monkeypatch)
    monkeypatch.setenv("GPURANK_HOME", bucket)
    monkeypatch.setenv("GPURANK_CACHE", str(tmp_path / "other"))
    for words, left in ((["--dry-run"], {old, new}), ([], {new})):
        monkeypatch.setattr(sys, "argv", ["gpurank", "prune", "--keep", "1", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code and old in capsys.readouterr().out
        assert set(there(first)) == left


def test_one_run_at_a_time_wherever_it_runs(bucket: str, tmp_path: Path) -> None:
    first, second = at(bucket, tmp_path / "one"), at(bucket, tmp_path / "two")
    with (
        remote.claimed(first, "gpurank watch"),
        pytest.raises(LockHeld, match="gpurank watch"),
        remote.claimed(second, "gpurank analyze"),
    ):
        pass
    with remote.claimed(second, "gpurank analyze"):
        holder = remote.remote_holder(first)
        assert holder is not None and holder[0].command == "gpurank analyze" and holder[1] < 60
    assert remote.remote_holder(first) is None


def test_a_killed_run_is_taken_over_when_its_claim_expires(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import os, sys; from gpurank.settings import load; from gpurank.store import remote\n"
        "with remote.claimed(load(home=sys.argv[1]), 'gpurank run'):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    environment = os.environ | {"GPURANK_CACHE": str(tmp_path / "one")}
    killed = subprocess.run([sys.executable, "-c", program, bucket], env=environment, check=False)
    assert killed.returncode == -9
    second = at(bucket, tmp_path / "two")
    with pytest.raises(LockHeld, match="gpurank run"), remote.claimed(second, "gpurank watch"):
        pass
    monkeypatch.setattr(claim, "LEASE_S", 1.0)
    time.sleep(2.5)  # the store dates objects by the second
    with remote.claimed(second, "gpurank watch"):
        pass


def test_a_store_that_is_not_there_is_named_in_one_line(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = bucket.replace("s3://store-", "s3://nowhere-")
    for call in (remote.pull, lambda settings: remote.claimed(settings, "x").__enter__()):
        with pytest.raises(StoreError, match=r"nowhere.*does not exist") as caught:
            call(at(missing, tmp_path / "one"))
        assert "\n" not in str(caught.value)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        port = silent.getsockname()[1]
        dead = f"s3://store/x?scheme=http&endpoint_override=127.0.0.1:{port}&region=us-east-1"
        with pytest.raises(StoreError, match=rf"127.0.0.1:{port}.*cannot be reached") as caught:
            remote.pull(at(dead, tmp_path / "two"))
    assert "\n" not in str(caught.value)


@pytest.mark.flow
def test_a_whole_run_on_object_storage(
    bucket: str, mirror: Path, tmp_path: Path, orchestrator: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    import gpurank
    from flows.backfill import backfill

    monkeypatch.setenv("GPURANK_CACHE", str(tmp_path / "one"))
    done: list[dict[str, Any]] = backfill("all", str(mirror), bucket)
    assert [item["state"] for item in done] == ["ingested", "ingested"]
    monkeypatch.setenv("GPURANK_CACHE", str(tmp_path / "two"))
    assert gpurank.table("marts.result", home=bucket).height == 4
