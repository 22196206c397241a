"""prefect.yaml on a real server with a real worker: a round appears, then a correction of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

pytestmark = [pytest.mark.flow, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
PREFECT = Path(sys.executable).with_name("prefect")


@contextmanager
def service(log: Path, environ: dict[str, str], *arguments: str) -> Iterator[None]:
    """A process in the background; it gets two signals to end and a third that it cannot refuse."""
    with log.open("wb") as stream:
        child = subprocess.Popen(
            [str(PREFECT), *arguments], cwd=ROOT, env=environ, stdout=stream, stderr=stream,
            start_new_session=True,
        )  # fmt: skip
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            try:
                child.wait(8)
                break
            except subprocess.TimeoutExpired:
                continue


def prefect(environ: dict[str, str], *arguments: str, timeout_s: float = 240) -> str:
    done = subprocess.run(
        [str(PREFECT), *arguments], cwd=ROOT, env=environ, capture_output=True, text=True,
        timeout=timeout_s,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def deployed(remotes: Any, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A server with the deployments of prefect.yaml, and a worker that serves them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environ = os.environ | {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "GPURANK_HOME": str(tmp_path / "home"),
        "GPURANK_SOURCE": remotes.template,
    }
    environ.pop("PREFECT_TEST_MODE", None)
    serve = ("server", "start", "--host", "127.0.0.1", "--port", port, "--no-ui")
    with service(tmp_path / "server.log", environ, *serve):
        give_up = time.monotonic() + 120
        while True:
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=5)
                break
            assert time.monotonic() < give_up, (tmp_path / "server.log").read_text()[-3000:]
            time.sleep(0.5)
        prefect(environ, "work-pool", "create", "local", "--type", "process", "--overwrite")
        prefect(environ, "--no-prompt", "deploy", "--all")
        work = ("worker", "start", "--pool", "local", "--limit", "2")
        with service(tmp_path / "worker.log", environ, *work):
            yield environ


def test_a_deployed_watch_follows_a_remote(
    deployed: dict[str, str], remotes: Any, tmp_path: Path
) -> None:
    def watch() -> None:
        prefect(deployed, "deployment", "run", "watch/watch", "--watch", "--watch-timeout", "230")

    def ask(sql: str) -> list[Any]:
        with duckdb.connect(str(tmp_path / "home" / "warehouse.duckdb"), read_only=True) as con:
            return con.execute(sql).fetchall()

    remotes.add("v6.1")
    watch()
    assert ask("select round_id, count(*) from marts.result group by all") == [("v6.1", 2)]

    remotes.add("v6.2", shift_min=1.0)
    remotes.edit_system("v6.1", "Zeta", host_processor_model_name="Intel Xeon Platinum 8570")
    remotes.publish("v6.1")
    watch()
    assert ask("select round_id, count(*) from marts.result group by all order by 1") == [
        ("v6.1", 2), ("v6.2", 2),
    ]  # fmt: skip
    assert ask("select round_id, kind, new_value from marts.change") == [
        ("v6.1", "system_edited", "Intel Xeon Platinum 8570")
    ]
    # A parameter of the wrong form is refused before anything runs.
    with pytest.raises(AssertionError, match=r"(?s)pattern|match"):
        prefect(deployed, "deployment", "run", "ingest/ingest", "-p", "round_id=v4")


def test_deployments_are_scheduled_tagged_and_never_pile_up() -> None:
    declared = {
        item["name"]: item
        for item in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    }
    assert set(declared) == {"watch", "ingest", "analyze", "backfill"}
    assert declared["watch"]["schedules"] == [
        {"cron": "0 6 * * 1", "timezone": "UTC", "active": True}
    ]
    for name, item in declared.items():
        assert item["tags"] == ["gpurank", name]
        assert item["concurrency_limit"]["limit"] == 1
        assert (ROOT / item["entrypoint"].partition(":")[0]).is_file()
    assert declared["watch"]["concurrency_limit"]["collision_strategy"] == "CANCEL_NEW"


def test_automations_and_services_are_well_formed() -> None:
    from prefect.events.schemas.automations import AutomationCore

    from flows import events

    document = yaml.safe_load((ROOT / "automations.yaml").read_text())
    known = {events.CHANGED, events.UNCHANGED, events.INCOMPLETE}
    for item in document["automations"]:
        assert AutomationCore.model_validate(item).trigger.expect <= known  # type: ignore[union-attr]
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert set(services) == {"database", "server", "deploy", "worker"}
    for item in services.values():
        assert set(item.get("depends_on", {})) <= set(services)
