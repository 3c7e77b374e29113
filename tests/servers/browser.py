"""A headless Chromium, driven by its own DevTools protocol: real keys, real console."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import connect
from websockets.sync.connection import Connection

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NO_CHROMIUM = "no Chromium on this machine"
_KEYS = {
    "Backspace": 8,
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowRight": 39,
}


class Page:
    """One tab. ``errors`` holds what its console and its requests complained of."""

    def __init__(self, socket: Connection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A DevTools command and its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=30))
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif message["method"] == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif message["method"] == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(json.dumps(params["args"]))

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression: str, seconds: float = 10) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """What a person sees of an element; "" where it is hidden."""
        shown = f"document.querySelector({json.dumps(selector)})"
        found: str = self.evaluate(f"{shown}.checkVisibility() ? {shown}.innerText : ''")
        return found

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """One key, down and up, as a keyboard sends it."""
        event: dict[str, Any] = {"key": key}
        if key in _KEYS:
            event["windowsVirtualKeyCode"] = _KEYS[key]
        if key == "Enter" or len(key) == 1:
            event["text"] = "\r" if key == "Enter" else key
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        event.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def look(self, width: int, height: int, scheme: str = "light") -> None:
        """Size of the window and colour scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def offline(self) -> None:
        """From now on no request of the page reaches anything."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A tab of a browser whose profile lies in ``folder``."""
    assert CHROMIUM is not None, NO_CHROMIUM
    process = subprocess.Popen(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with connect(_socket_address(folder), max_size=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(timeout=20)


def _socket_address(folder: Path) -> str:
    file = folder / "DevToolsActivePort"
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if file.exists() and file.read_text().count("\n"):
            port = file.read_text().splitlines()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as reply:
                tabs = [tab for tab in json.load(reply) if tab["type"] == "page"]
            if tabs:
                address: str = tabs[0]["webSocketDebuggerUrl"]
                return address
        time.sleep(0.05)
    raise AssertionError("Chromium did not start")
