"""A temporary orchestrator server, in a thread of the process that needs it: it ends with it.

The orchestrator can start one itself, but in a process of its own, which needs as much memory
again and is left running when its owner is killed.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpurank.errors import GpurankError

if TYPE_CHECKING:
    import uvicorn

_PATIENCE_S = 120.0
_FAREWELL_S = 3
_NAME = "orchestrator"
# They run nowhere but in the server, some of it in threads that it starts.
_LOGGERS = ("prefect.server", "uvicorn", "fastapi", "docket", "alembic", "sqlalchemy", "aiosqlite")


# Where our own server listens, while there is one.
_own_url = ""


class ServerFailed(GpurankError, RuntimeError):
    """The orchestrator's server did not start."""


@contextmanager
def temporary(log_path: Path) -> Iterator[None]:
    """Have a server for the block: the configured one, else a temporary one.

    Call it before the orchestrator is imported. What the server complains about is written to
    ``log_path``.

    Raises:
        ServerFailed: it ended at once or did not answer in time.
    """
    global _own_url
    if _is_configured():
        yield
        return
    with socket.socket() as listener:
        # Bound from the first to the last moment: nobody else gets the port in between.
        listener.bind(("127.0.0.1", 0))
        _own_url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        os.environ["PREFECT_API_URL"] = _own_url
        try:
            # All of it here: threads that import what imports each other see halves of it.
            server = _server()
            with _complaints(log_path), _running(server, listener, log_path), _unwatched():
                yield
        finally:
            del os.environ["PREFECT_API_URL"]


def limit_tags(*tags: str) -> list[str]:
    """Tags of a task by which a server may limit how many run at once; none for our own server.

    It has no limits. To ask it takes two requests a task, and two at once may find its database
    busy and wait for seconds.
    """
    return [] if _own_url and os.environ.get("PREFECT_API_URL") == _own_url else list(tags)


def _server() -> uvicorn.Server:
    import uvicorn
    from prefect.server.api.server import create_app

    config = uvicorn.Config(
        create_app(ephemeral=True, final=True),
        log_config=None,
        lifespan="on",
        # A step may take minutes. A connection that was closed meanwhile costs the next request a
        # failure and two seconds of patience.
        timeout_keep_alive=3600,
        timeout_graceful_shutdown=_FAREWELL_S,
    )
    return uvicorn.Server(config)


@contextmanager
def _running(server: uvicorn.Server, listener: socket.socket, log_path: Path) -> Iterator[None]:
    """The server in a thread that ends with the block, or with the process."""
    thread = threading.Thread(target=server.run, args=([listener],), name=_NAME, daemon=True)
    thread.start()
    try:
        _await(server, thread, log_path)
        yield
    finally:
        server.should_exit = True
        thread.join(_FAREWELL_S + 1)


@contextmanager
def _unwatched() -> Iterator[None]:
    """No heartbeats of flows: a server that ends with them looks for no dead ones.

    The thread that sends them ends at a full second.
    """
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield


def _await(server: uvicorn.Server, thread: threading.Thread, log_path: Path) -> None:
    """Wait until the server answers."""
    give_up = time.monotonic() + _PATIENCE_S
    while not server.started:
        if not thread.is_alive():
            raise ServerFailed(
                f"the orchestrator's server ended at once; see {log_path}, or set PREFECT_API_URL "
                "to a running server"
            )
        if time.monotonic() > give_up:
            raise ServerFailed(
                f"the orchestrator's server did not answer within {_PATIENCE_S:.0f} s; the machine "
                f"may be overloaded: run again, see {log_path}, or set PREFECT_API_URL to a "
                "running server"
            )
        time.sleep(0.02)


@contextmanager
def _complaints(log_path: Path) -> Iterator[None]:
    """Have what the server logs in a file, made with the first line, and not among our own lines.

    Enter it when the orchestrator has set up its logging, which it does once.
    """
    log_path.unlink(missing_ok=True)
    file = logging.FileHandler(log_path, encoding="utf-8", delay=True)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s - %(message)s"))

    def is_ours(record: logging.LogRecord) -> bool:
        if record.threadName != _NAME and not record.name.startswith(_LOGGERS):
            return True
        file.handle(record)
        return False

    handlers = {one for name in (None, *_LOGGERS) for one in logging.getLogger(name).handlers}
    for handler in handlers:
        handler.addFilter(is_ours)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_ours)
        file.close()


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
