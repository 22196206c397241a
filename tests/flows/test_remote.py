"""A data folder on an S3-compatible server on loopback: whole or not at all, as on disk."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpurank.settings import Settings, load
from gpurank.versions import remote
from gpurank.versions.lock import LockHeld
from gpurank.versions.store import Store
from tasks.ingest import ingest_round
from tasks.past import build


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Address of an empty bucket."""
    pytest.importorskip("moto.server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name, value in (("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s"),
                        ("AWS_EC2_METADATA_DISABLED", "true")):  # fmt: skip
        monkeypatch.setenv(name, value)
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=log, stderr=log, env=os.environ.copy(),
        )  # fmt: skip
    try:
        give_up = time.monotonic() + 60
        while True:
            with suppress(OSError):
                ask = urllib.request.Request(f"http://127.0.0.1:{port}/store", method="PUT")
                urllib.request.urlopen(ask, timeout=5)
                break
            assert time.monotonic() < give_up, (tmp_path / "server.log").read_text()
            time.sleep(0.2)
        yield f"s3://store/gpurank?scheme=http&endpoint_override=127.0.0.1:{port}&region=us-east-1"
    finally:
        server.kill()
        server.wait()


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
    real = remote.Place.write

    def dies(self: remote.Place, name: str, data: bytes) -> None:
        if len(written) == limit:
            raise OSError("connection lost")
        written.append(name)
        real(self, name, data)

    monkeypatch.setattr(remote.Place, "write", dies)
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


def test_one_run_at_a_time_wherever_it_runs(bucket: str, tmp_path: Path) -> None:
    first, second = at(bucket, tmp_path / "one"), at(bucket, tmp_path / "two")
    with (
        remote.claimed(first, "gpurank watch"),
        pytest.raises(LockHeld, match="gpurank watch"),
        remote.claimed(second, "gpurank analyze"),
    ):
        pass
    there = remote.place(first)
    assert there is not None and there.names("claims") == []
    with remote.claimed(second, "gpurank analyze"):
        (claim,) = there.names("claims")
        assert json.loads(there.read(f"claims/{claim.base_name}") or b"")["command"]


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
