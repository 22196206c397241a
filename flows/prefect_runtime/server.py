"""A temporary Prefect server, in a thread of the process that needs it, so that both end together.

Prefect can start a server itself, but in a process of its own, which needs as much memory again
and is left running when its owner is killed.
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

_START_TIMEOUT_S = 120.0
_SHUTDOWN_TIMEOUT_S = 3
_THREAD_NAME = "prefect-server"
# These loggers belong to the server alone; some write from threads that the server starts.
_SERVER_LOGGERS = (
    "prefect.server",
    "uvicorn",
    "fastapi",
    "docket",
    "alembic",
    "sqlalchemy",
    "aiosqlite",
)


class ServerFailed(GpurankError, RuntimeError):
    """Prefect's temporary server did not start."""


@contextmanager
def temporary_server(log_path: Path) -> Iterator[None]:
    """Provide a Prefect server for the block: the one that the user configured, else a new one.

    Call it before Prefect is imported.

    Args:
        log_path: file for what the server logs; made with its first line.

    Raises:
        ServerFailed: the server ended at once or did not answer in time.
    """
    if is_configured():
        yield
        return
    with socket.socket() as listener:
        # The socket stays bound throughout, so that nobody else can take the port in between.
        listener.bind(("127.0.0.1", 0))
        os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        try:
            # Prefect is imported in this thread: modules that import each other must not be
            # imported by two threads at once.
            server = create_server()
            with _log_server_to(log_path), _run_in_thread(server, listener, log_path):
                yield
        finally:
            del os.environ["PREFECT_API_URL"]


def create_server() -> uvicorn.Server:
    """Returns Prefect's server application in a web server that is not running yet.

    ``create_app`` is private to Prefect; tests/unit/flows/prefect_runtime/test_server.py fails
    where it has moved.
    """
    import uvicorn
    from prefect.server.api.server import create_app

    config = uvicorn.Config(
        create_app(ephemeral=True, final=True),
        log_config=None,
        lifespan="on",
        # A task may take minutes. Were its connection closed meanwhile, its next request would
        # fail and be repeated two seconds later.
        timeout_keep_alive=3600,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
    )
    return uvicorn.Server(config)


def is_configured() -> bool:
    """Returns whether the user has a Prefect server of their own, by variable or profile."""
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


@contextmanager
def _run_in_thread(
    server: uvicorn.Server, listener: socket.socket, log_path: Path
) -> Iterator[None]:
    """Run the server in a thread that ends with the block, or with the process."""
    thread = threading.Thread(target=server.run, args=([listener],), name=_THREAD_NAME, daemon=True)
    thread.start()
    try:
        _wait_until_started(server, thread, log_path)
        yield
    finally:
        server.should_exit = True
        thread.join(_SHUTDOWN_TIMEOUT_S + 1)


def _wait_until_started(server: uvicorn.Server, thread: threading.Thread, log_path: Path) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not server.started:
        if not thread.is_alive():
            raise ServerFailed(
                f"Prefect's temporary server ended at once; see {log_path}, or set PREFECT_API_URL "
                "to a running server"
            )
        if time.monotonic() > deadline:
            raise ServerFailed(
                f"Prefect's temporary server did not answer within {_START_TIMEOUT_S:.0f} s; the "
                f"machine may be overloaded: run again, see {log_path}, or set PREFECT_API_URL to "
                "a running server"
            )
        time.sleep(0.02)


@contextmanager
def _log_server_to(log_path: Path) -> Iterator[None]:
    """Write what the server logs to a file instead of among the command's own lines.

    Enter it after Prefect has set up its logging, which it does once, while it is imported.
    """
    log_path.unlink(missing_ok=True)
    file = logging.FileHandler(log_path, encoding="utf-8", delay=True)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s - %(message)s"))

    def keep_or_redirect(record: logging.LogRecord) -> bool:
        if record.threadName != _THREAD_NAME and not record.name.startswith(_SERVER_LOGGERS):
            return True
        file.handle(record)
        return False

    names = (None, *_SERVER_LOGGERS)
    handlers = {handler for name in names for handler in logging.getLogger(name).handlers}
    for handler in handlers:
        handler.addFilter(keep_or_redirect)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(keep_or_redirect)
        file.close()
