"""A source that refuses, is silent or talks nonsense withdraws nothing and changes nothing."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flows.as_of import build
from gpurank.operations import watch_record as watching
from gpurank.settings import Settings, load
from tasks.ingest.round import ingest_round

pytestmark = pytest.mark.flow

_LOGIN = b"<!doctype html><title>Sign in</title><form></form>"
# A Git server's first words, then silence for good.
_CUT = b"001e# service=git-upload-pack\n0000015547a1"


class Outage(BaseHTTPRequestHandler):
    """Answers every question in one way."""

    how = "403"

    def do_GET(self) -> None:
        if self.how == "silent":
            time.sleep(3)
            self.close_connection = True
            return
        body = {"login": _LOGIN, "cut": _CUT}.get(self.how, b"no")
        self.send_response(200 if self.how in ("login", "cut") else int(self.how))
        kind = "application/x-git-upload-pack-advertisement" if self.how == "cut" else "text/html"
        self.send_header("Content-Type", kind)
        if self.how == "401":
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def prepared(
    tmp_path_factory: pytest.TempPathFactory, invented_round: Callable[..., Path]
) -> Settings:
    folder = tmp_path_factory.mktemp("prepared")
    invented_round(folder / "mirror", "v5.0")
    made = load(home=folder / "home", source=str(folder / "mirror"), environ={})
    ingest_round("v5.0", made)
    build(made)
    return made


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Outage)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/training_results_{{round}}"
    server.shutdown()
    server.server_close()


def contents(home: Path) -> dict[str, str]:
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path.name not in ("watch.json", "gpurank.lock")
    }


@pytest.mark.parametrize(
    "how",
    [
        "404",
        "503",
        *(
            pytest.param(how, marks=pytest.mark.slow)
            for how in ("401", "403", "410", "429", "500", "login", "cut", "silent")
        ),
    ],
)
def test_no_outage_withdraws_anything(
    how: str,
    prepared: Settings,
    address: str,
    orchestrator: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from flows.watch import watch
    from gpurank.errors import Exit, explain
    from tasks.sources import git_remote
    from tasks.upkeep import watch as task

    monkeypatch.setattr(Outage, "how", how)
    monkeypatch.setattr(task, "RETRY_AFTER_S", (0.0, 0.0))
    monkeypatch.setattr(git_remote, "ASK_TIMEOUT_S", 0.5)
    before = contents(prepared.home)
    with pytest.raises(Exception) as failed:
        watch(address, str(prepared.home))
    code, message = explain(failed.value)
    assert code == Exit.SOURCE and "nothing was withdrawn" in message, message
    assert contents(prepared.home) == before
    record = watching.read(prepared.watch_path)
    assert record is not None and not record.is_complete
    assert {item.state for item in record.findings} == {"unanswered"}
