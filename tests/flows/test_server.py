"""The temporary server: there for a block, gone after it or with its owner, its log apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_OWNER = """
import logging, os, sys, threading
from pathlib import Path
from flows.prefect_runtime import environment, server

environment.set_defaults(Path(sys.argv[1]))
with server.temporary_server(Path(sys.argv[1]) / "prefect.log"):
    print(os.environ["PREFECT_API_URL"], flush=True)
    logging.getLogger("docket.worker").error("a complaint of the server")
    logging.getLogger("elsewhere").error("a complaint of ours")
    sys.stdin.read()
print("after", "PREFECT_API_URL" in os.environ, flush=True)
"""


def owner(home: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that has a temporary server until its stdin closes."""
    home.mkdir()
    known = {name: text for name, text in os.environ.items() if not name.startswith("PREFECT_")}
    return subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**known, "PREFECT_HOME": str(home / "prefect"), **environment},
    )


def is_healthy(url: str) -> bool:
    """Whether a server answers there."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as found:
            return bool(found.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def test_it_is_there_for_the_block_and_complains_to_its_log(tmp_path: Path) -> None:
    child = owner(tmp_path / "home")
    assert child.stdout is not None
    url = child.stdout.readline().strip()
    assert is_healthy(url)
    told, complained = child.communicate("")
    assert (child.returncode, told.split()) == (0, ["after", "False"])
    assert not is_healthy(url)
    assert "ours" in complained
    assert "of the server" not in complained
    log = (tmp_path / "home" / "prefect.log").read_text()
    assert "a complaint of the server" in log
    assert "ours" not in log


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_owner(tmp_path: Path, how: signal.Signals) -> None:
    child = owner(tmp_path / "home")
    assert child.stdout is not None
    url = child.stdout.readline().strip()
    assert is_healthy(url)
    child.send_signal(how)
    child.communicate()
    assert child.returncode == -how
    assert not is_healthy(url)


def test_one_that_cannot_start_says_so_and_where_to_look(tmp_path: Path) -> None:
    database = f"sqlite+aiosqlite:///{tmp_path}/absent/prefect.db"
    child = owner(tmp_path / "home", PREFECT_API_DATABASE_CONNECTION_URL=database)
    told, complained = child.communicate("")
    assert (child.returncode, told) == (1, "")
    last = complained.strip().splitlines()[-1]
    assert last.startswith("flows.prefect_runtime.server.ServerFailed")
    assert "prefect.log" in last
