"""Owns a real Chromium that tests look at pages with."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from archivebox.plugins.base.cdp import CDPConnection
from archivebox.plugins.chrome.launch import PIPE, browser_pipe

PROGRAM = shutil.which("chromium") or ""


class Tab(CDPConnection):
    """The browser's own connection, with calls meant for one tab unless they name another session."""

    session = ""

    def call(
        self, method: str, params: dict[str, Any] | None = None, *, timeout: float = 60, session: str = ""
    ) -> dict[str, Any]:
        return super().call(method, params, timeout=timeout, session=session or self.session)


class Browser:
    """One headless browser with one tab; ``flags`` are added to its command line."""

    def __init__(self, *flags: str) -> None:
        self.flags = flags

    def __enter__(self) -> Self:
        self.profile = Path(tempfile.mkdtemp(prefix="archivebox-test-browser-"))
        command = [
            PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
            *self.flags, "about:blank",
        ]  # fmt: skip
        with browser_pipe() as pipe:
            self.process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, pass_fds=PIPE
            )
        try:
            self._connect(Tab(pipe))
        except BaseException:
            self._end()
            raise
        return self

    def _connect(self, browser: Tab) -> None:
        browser.call("Browser.getVersion", timeout=120)
        page = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        browser.session = browser.call("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
        self.tab = browser
        self.tab.call("Page.enable")
        self.tab.call("Runtime.enable")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tab.close()
        self._end()

    def _end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)
        shutil.rmtree(self.profile, ignore_errors=True)

    @contextmanager
    def private(self) -> Iterator[None]:
        """Work in a tab that shares no cookies with the others, and is gone after that."""
        before, self.tab.session = self.tab.session, ""
        context = self.tab.call("Target.createBrowserContext")["browserContextId"]
        try:
            self._open_tab(context)
            yield
        finally:
            self.tab.session = ""
            self.tab.call("Target.disposeBrowserContext", {"browserContextId": context})
            self.tab.session = before

    def _open_tab(self, context: str) -> None:
        where = {"url": "about:blank", "browserContextId": context}
        page = self.tab.call("Target.createTarget", where)["targetId"]
        self.tab.session = self.tab.call("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
        self.tab.call("Page.enable")
        self.tab.call("Runtime.enable")

    def set_cookie(self, url: str, name: str, value: str) -> None:
        self.tab.call("Network.setCookie", {"url": url, "name": name, "value": value, "sameSite": "Strict"})

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.tab.call("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tab.call("Emulation.setEmulatedMedia", {"features": [scheme]})

    def go(self, url: str) -> None:
        """Open ``url`` and wait until it and its frames have loaded."""
        answer = self.tab.call("Page.navigate", {"url": url}, timeout=60)
        assert "errorText" not in answer, answer
        end = time.monotonic() + 90
        while self.value("document.readyState") != "complete":
            assert time.monotonic() < end, f"{url} does not finish loading"
            time.sleep(0.05)

    def click(self, x: int, y: int) -> None:
        """Click as a person does, whatever frame lies there."""
        for kind in ("mousePressed", "mouseReleased"):
            where = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
            self.tab.call("Input.dispatchMouseEvent", where)

    def press(self, *keys: str) -> None:
        """Press keys as a person does, one after the other: letters by themselves, others by their names."""
        for key in keys:
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            self.tab.call("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, "text": text})
            self.tab.call("Input.dispatchKeyEvent", {"type": "keyUp", "key": key})

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file in a field, as a person does in the browser's dialog."""
        field = self.tab.call("Runtime.evaluate", {"expression": f"document.querySelector({selector!r})"})
        self.tab.call("DOM.setFileInputFiles", {"files": [str(path)], "objectId": field["result"]["objectId"]})

    def value(self, expression: str) -> Any:
        answer = self.tab.call(
            "Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True}
        )
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 90) -> Any:
        end = time.monotonic() + seconds
        while not (value := self.value(expression)):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.1)
        return value

    def follow(self, selector: str) -> None:
        """Click a link, and wait until the page that it leads to has loaded.

        Scripts see its elements before its style sheets have come, and measure them without those.
        """
        self.value(f"window.isLeft = true; document.querySelector({selector!r}).click()")
        self.wait_for("window.isLeft === undefined && document.readyState === 'complete'")

    def in_frame(self, expression: str, seconds: float = 90) -> Any:
        """What ``expression`` comes to in the frame of another origin, a target of its own, once it is true."""
        end = time.monotonic() + seconds
        attached = self.tab.call("Target.attachToTarget", {"targetId": self._frame_by(end), "flatten": True})
        asked = {"expression": expression, "returnByValue": True}
        while True:
            answer = self.tab.call("Runtime.evaluate", asked, session=attached["sessionId"])
            if value := answer["result"].get("value"):
                return value
            assert time.monotonic() < end, f"never true in the frame: {expression}"
            time.sleep(0.1)

    def _frame_by(self, end: float) -> str:
        """The frame's own target: its process is started only when its document comes."""
        while time.monotonic() < end:
            for target in self.tab.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "iframe":
                    return str(target["targetId"])
            time.sleep(0.1)
        raise AssertionError("there never was a frame of another origin")

    def picture(self, path: Path, *, whole: bool = False) -> None:
        shot = self.tab.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole}, timeout=60)
        path.write_bytes(base64.b64decode(shot["data"]))
