"""A real Chromium, driven over its debugging pipe: no driver, no port, no extra package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_TIMEOUT_S = 60
_SERIOUS = ("error", "warning", "assert")


def find() -> str | None:
    """Returns the path of a Chromium (GPURANK_CHROMIUM, else by its usual names), or None."""
    path = os.environ.get("GPURANK_CHROMIUM")
    return path or next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page of a headless Chromium. Use as a context manager.

    ``requests`` are the addresses of everything the page asked for besides the page itself,
    ``problems`` its console errors, warnings and uncaught exceptions.
    """

    def __init__(self, path: str) -> None:
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = os.pipe()
        self._read, from_write = os.pipe()
        # The browser reads its descriptor 3 and writes its descriptor 4.
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--mute-audio",
            f"--user-data-dir={self._profile.name}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", command, path, *flags],
            pass_fds=(to_read, from_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._main = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        self._call("Performance.enable", timeDomain="threadTicks")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def open(self, page: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Loads a file and waits until it is ready; empties ``requests`` and ``problems``."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.scheme(scheme)
        self.requests.clear()
        self.problems.clear()
        self._main = page.resolve().as_uri()
        self._call("Page.navigate", url=self._main)
        end = time.monotonic() + _TIMEOUT_S
        ready = "document.readyState === 'complete' && location.href !== 'about:blank'"
        while not self.ask(ready):
            if time.monotonic() > end:
                raise TimeoutError(f"{page} did not load")
            time.sleep(0.02)
        self.settle()

    def scheme(self, name: str, media: str = "") -> None:
        """Prefers ``light`` or ``dark``; ``media`` print shows the page as it prints."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self._call("Emulation.setEmulatedMedia", media=media, features=features)

    def ask(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression (a promise is awaited)."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def settle(self) -> None:
        """Waits for two animation frames, so that what was triggered has been drawn."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def enter(self, selector: str, value: str) -> None:
        """Sets a field as a person would: its value, then its events."""
        quoted = json.dumps(selector)
        self.ask(
            f"(() => {{ const field = document.querySelector({quoted});"
            f" field.value = {json.dumps(value)};"
            " for (const name of ['input', 'change'])"
            " field.dispatchEvent(new Event(name, {bubbles: true})); })()"
        )
        self.settle()

    def click(self, selector: str) -> None:
        """Clicks the first element of a selector."""
        self.ask(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def key(self, name: str, code: int, text: str = "") -> None:
        """Presses and releases a key where the focus is."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self._call(
                "Input.dispatchKeyEvent",
                type=kind, key=name, code=name, windowsVirtualKeyCode=code, **more,
            )  # fmt: skip
        self.settle()

    def busy_s(self) -> float:
        """Returns the processor time, in seconds, that the page's thread has used so far."""
        metrics = self._call("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    def picture(self, path: Path, whole: bool = False) -> None:
        """Writes a screenshot as PNG, of the window or of the whole page."""
        taken = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer.get("result", {}))
            self._event(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], _TIMEOUT_S)
            chunk = os.read(self._read, 1 << 20) if ready else b""
            if not chunk:
                raise TimeoutError("the browser does not answer")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(message))

    def _event(self, event: dict[str, Any]) -> None:
        method, given = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            address = given["request"]["url"]
            if address != self._main and not address.startswith("data:"):
                self.requests.append(address)
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(given["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.problems.append(json.dumps(given["args"]))
        elif method == "Log.entryAdded" and given["entry"]["level"] in _SERIOUS:
            self.problems.append(given["entry"]["text"])
