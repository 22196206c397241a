"""A temporary orchestrator server that ends with the process that started it, however that ends.

The orchestrator can start one itself, but leaves it running when its owner is killed. Ours holds
on to a pipe: when the other end closes, it stops. It starts while its owner still imports.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 120.0
_FAREWELL_S = 3.0


class ServerFailed(RuntimeError):
    """The orchestrator's server did not start."""


@contextmanager
def temporary(log_path: Path) -> Iterator[None]:
    """Have a server for the block: the configured one, else a temporary one.

    Call it before the orchestrator is imported. What the server complains about is written to
    ``log_path``.

    Raises:
        ServerFailed: it ended at once or did not answer in time.
    """
    if _is_configured():
        yield
        return
    port = _free_port()
    with log_path.open("wb") as log:
        child = subprocess.Popen(  # noqa: S603 (our own file)
            [sys.executable, "-P", __file__, str(port)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            # An interrupt from the keyboard is for us; we still have to report it to the server.
            start_new_session=True,
        )
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    try:
        _await(child, port, log_path)
        yield
    finally:
        if child.stdin:
            child.stdin.close()
        try:
            child.wait(_FAREWELL_S + 1)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        del os.environ["PREFECT_API_URL"]
        if log_path.stat().st_size == 0:
            log_path.unlink()


def _await(child: subprocess.Popen[bytes], port: int, log_path: Path) -> None:
    """Wait until the server answers; the orchestrator is imported meanwhile."""
    import prefect  # noqa: F401

    give_up = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up:
        if child.poll() is not None:
            raise ServerFailed(
                f"the orchestrator's server ended at once (code {child.returncode}); "
                f"see {log_path}, or set PREFECT_API_URL to a running server"
            )
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=5) as found:
                if found.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.1)
    raise ServerFailed(
        f"the orchestrator's server did not answer within {_PATIENCE_S:.0f} s; the machine may be "
        f"overloaded: run again, see {log_path}, or set PREFECT_API_URL to a running server"
    )


def _is_configured() -> bool:
    """Whether the person running us has a server of their own, by variable or profile."""
    if os.environ.get("PREFECT_API_URL"):
        return True
    try:
        home = Path(os.environ.get("PREFECT_HOME") or Path("~/.prefect").expanduser())
        path = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        active = os.environ.get("PREFECT_PROFILE") or document.get("active", "")
        return bool(document["profiles"][active].get("PREFECT_API_URL"))
    except (OSError, RuntimeError, KeyError, AttributeError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serve(port: int) -> None:
    """Serve until stdin closes; in the child."""
    os.environ.update(
        PREFECT_UI_ENABLED="0", PREFECT__SERVER_EPHEMERAL="1", PREFECT__SERVER_FINAL="1"
    )
    threading.Thread(target=_end_with_owner, daemon=True).start()
    import uvicorn

    config = uvicorn.Config(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=port,
        log_level="error",
        lifespan="on",
        # A step may take minutes. A connection that was closed meanwhile costs the next request a
        # failure and two seconds of patience.
        timeout_keep_alive=3600,
    )
    global _server
    _server = uvicorn.Server(config)
    _server.run()


_server: object = None


def _end_with_owner() -> None:
    sys.stdin.buffer.read()
    if _server is not None:
        _server.should_exit = True  # type: ignore[attr-defined]
        time.sleep(_FAREWELL_S)
    os._exit(0)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
