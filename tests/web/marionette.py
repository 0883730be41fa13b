"""A stock Firefox, driven through Marionette: JSON with its length before it, over a socket of loopback."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS = 180


class Firefox:
    """A session of a running Firefox."""

    def __init__(self, port: int) -> None:
        self._socket = _connected(port)
        self._next = 0
        self._left = b""
        self._read()  # what it is and which protocol it speaks
        self.send("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {"acceptInsecureCerts": False}}})

    def send(self, command: str, parameters: dict[str, Any] | None = None) -> Any:
        """What a command gives; AssertionError with Firefox's words when it fails."""
        self._next += 1
        text = json.dumps([0, self._next, command, parameters or {}]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, result = self._read()
        assert number == self._next and error is None, error
        return result["value"] if isinstance(result, dict) and set(result) == {"value"} else result

    def go(self, address: str) -> None:
        """Opens an address in a page of its own."""
        self.send("WebDriver:Navigate", {"url": "about:blank"})
        self.send("WebDriver:Navigate", {"url": address})

    def evaluate(self, script: str, *args: Any) -> Any:
        """What the body of a function returns in the page."""
        return self.send("WebDriver:ExecuteScript", {"script": script, "args": list(args)})

    def until(self, script: str, *args: Any) -> None:
        """Waits until an expression of the page is true."""
        end = time.monotonic() + SECONDS / 2
        while not self.evaluate(f"return {script}", *args):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Presses keys one after the other; WebDriver's own letters stand for those without one."""
        for key in keys:
            actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
            self.send("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def screenshot(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self.send("WebDriver:TakeScreenshot", {"full": False}))

    def size(self, width: int, height: int) -> None:
        """Sets the size of the window."""
        self.send("WebDriver:SetWindowRect", {"width": width, "height": height})

    def close(self) -> None:
        """Lets go of it."""
        self._socket.close()

    def _read(self) -> Any:
        while b":" not in self._left:
            self._more()
        length, _, rest = self._left.partition(b":")
        self._left = rest
        while len(self._left) < int(length):
            self._more()
        text, self._left = self._left[: int(length)], self._left[int(length) :]
        return json.loads(text)

    def _more(self) -> None:
        part = self._socket.recv(1 << 20)
        assert part, "Firefox closed the connection"
        self._left += part


def _connected(port: int) -> socket.socket:
    end = time.monotonic() + SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), SECONDS)
        except OSError:
            assert time.monotonic() < end, "Firefox does not listen"
            time.sleep(0.1)


@contextlib.contextmanager
def firefox(executable: str, folder: Path, theme: str) -> Iterator[Firefox]:
    """A Firefox without a window, with a profile of its own, in one theme; it ends with the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    prefs = {
        "marionette.port": port,
        "layout.css.prefers-color-scheme.content-override": 0 if theme == "dark" else 1,
        "ui.prefersReducedMotion": 1,
        "browser.shell.checkDefaultBrowser": False,
        "datareporting.policy.dataSubmissionEnabled": False,
        "app.update.enabled": False,
        "network.captive-portal-service.enabled": False,
        "network.connectivity-service.enabled": False,
    }
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in prefs.items())
    (folder / "user.js").write_text("".join(lines))
    command = [executable, "--headless", "--no-remote", "--marionette", "--profile", str(folder), "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        found = Firefox(port)
        try:
            yield found
        finally:
            found.close()
    finally:
        process.terminate()
        process.wait(20)
