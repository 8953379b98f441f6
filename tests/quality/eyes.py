"""Owns what a browser sees of a page: its picture, its words, what it did not get, and what its policy forbade."""

from __future__ import annotations

import base64
import io
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from archivebox.plugins.base.cdp import CDPConnection, CDPError
from archivebox.plugins.base.visible_words import OPTIONS, visible_words
from tests.webserver.browser import Browser, Tab

FLAGS = (
    "--disable-site-isolation-trials",
    "--disable-features=IsolateSandboxedIframes,IsolateOrigins,site-per-process",
    "--force-color-profile=srgb",
    "--autoplay-policy=no-user-gesture-required",
)
"""Frames of other origins are then seen by the same eyes as the page around them."""
WIDTH, HEIGHT = 1440, 900
LOAD_S, QUIET_S, LEAST_S, MOST_S = 60.0, 0.7, 1.5, 8.0
"""Seconds for the load event; without a request; of waiting after the load at least; at most."""
STILL_S = 0.4
"""The same as `LEAST_S`, of what no script moves."""
CALL_S = 120.0
IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
ENDLESS = frozenset({"EventSource", "Ping"})
"""Kinds of requests that nobody waits for (Network.ResourceType)."""
PARTS = frozenset({"MAIN", "ARTICLE"})
"""Elements that hold what a page is about."""
AROUND = frozenset({"NAV", "HEADER", "FOOTER", "ASIDE", "FORM", "BUTTON", "DIALOG", "::MARKER"})
"""And those that are about other things, wherever they are; the numbers of a list are no words of it."""
ROLES = {
    "main": "MAIN",
    "article": "ARTICLE",
    "navigation": "NAV",
    "banner": "HEADER",
    "contentinfo": "FOOTER",
    "complementary": "ASIDE",
    "form": "FORM",
    "search": "FORM",
    "button": "BUTTON",
    "dialog": "DIALOG",
}
"""Role of an element → the element that has this role by itself (HTML-AAM 1.0, 3.5)."""


@dataclass
class View:
    """What was seen of a page."""

    picture: Image.Image
    words: Counter[str]
    about: Counter[str]
    """The words of what the page is about."""
    missing: set[str] = field(default_factory=set)
    """Addresses that were asked for, and did not come."""
    violations: int = 0


def words_of(text: str) -> Counter[str]:
    """The words of a text, as :func:`each` has them."""
    return each(Counter(re.findall(r"\w+", text.casefold())))


def each(words: Counter[str]) -> Counter[str]:
    """Words, but characters where a language has no spaces: programs break its lines anywhere."""
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for character in IDEOGRAPHS.findall(word):
            parts[character] += count
        if rest := IDEOGRAPHS.sub("", word):
            parts[rest] += count
    return parts


class Sight:
    """One tab of a profile of its own, and the requests of what it shows."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab
        self.context = str(self._whole("Target.createBrowserContext")["browserContextId"])
        asked = {"url": "about:blank", "browserContextId": self.context}
        self.target = str(self._whole("Target.createTarget", asked)["targetId"])
        attached = self._whole("Target.attachToTarget", {"targetId": self.target, "flatten": True})
        self.session = str(attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Audits"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", {"enabled": True})
        self.resize(WIDTH, HEIGHT)

    def close(self) -> None:
        self._whole("Target.disposeBrowserContext", {"browserContextId": self.context})

    def _whole(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the browser itself."""
        return CDPConnection.call(self._tab, method, params or {}, timeout=CALL_S)

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self._tab.call(method, params or {}, timeout=CALL_S, session=self.session)

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", metrics)

    def value(self, expression: str, context: int | None = None) -> Any:
        asked: dict[str, Any] = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        if context is not None:
            asked["contextId"] = context
        return self.call("Runtime.evaluate", asked)["result"].get("value")

    def wait_for(self, ask: Callable[[], Any], seconds: float = 30.0) -> Any:
        """What `ask` comes to once that is something; None after so many seconds. Documents may change meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := ask():
                    return found
            except CDPError:
                pass  # the document that was asked is gone
            time.sleep(0.1)
        return None

    # --- loading --------------------------------------------------------------------------------------------------

    def go(self, url: str, least: float = LEAST_S) -> Requests:
        """Open a page, and wait until it has settled."""
        self._forget()
        self.call("Page.navigate", {"url": url})
        return self.settle(least)

    def after(self, expression: str) -> Requests:
        """Do something that loads another page, and wait until that has settled."""
        self._forget()
        self.value(expression)
        return self.settle()

    def settle(self, least: float = LEAST_S) -> Requests:
        """Wait for the load, some seconds more, and until nothing has been asked for a moment."""
        requests, start = Requests(), time.monotonic()
        loaded_at, busy_at = 0.0, start
        while True:
            now = time.monotonic()
            since = now - loaded_at
            is_quiet = not requests.open and now - busy_at > min(QUIET_S, least)
            if loaded_at and ((is_quiet and since > least) or since > MOST_S):
                return requests
            if not loaded_at and now - start > LOAD_S:
                return requests
            event = self._tab.next_event(0.1)
            if event is None or event.session != self.session:
                continue
            if event.method == "Page.loadEventFired":
                loaded_at = time.monotonic()
            elif event.method == "Page.frameNavigated" and "parentId" not in event.params["frame"]:
                loaded_at, requests.open = 0.0, set()
            if event.params.get("type") == "Media":
                least = max(least, LEAST_S)  # controls turn for a second after a video has loaded
            if requests.note(event.method, event.params):
                busy_at = time.monotonic()

    def _forget(self) -> None:
        while self._tab.next_event(0) is not None:
            pass

    # --- frames ---------------------------------------------------------------------------------------------------

    @property
    def main_frame(self) -> str:
        return self.target

    def shown_frame(self) -> str:
        """The first frame within the page; '' where there is none."""
        children = self.call("Page.getFrameTree")["frameTree"].get("childFrames", [])
        return str(children[0]["frame"]["id"]) if children else ""

    def world(self, frame: str) -> int:
        """A context in which our expressions see a frame's document."""
        return int(self.call("Page.createIsolatedWorld", {"frameId": frame})["executionContextId"])

    def frames_below(self, frame: str) -> set[str]:
        """A frame, and all that are in it."""
        found: set[str] = set()

        def walk(node: dict[str, Any], *, inside: bool) -> None:
            inside = inside or node["frame"]["id"] == frame
            found.update({node["frame"]["id"]} if inside else ())
            for child in node.get("childFrames", []):
                walk(child, inside=inside)

        walk(self.call("Page.getFrameTree")["frameTree"], inside=False)
        return found

    # --- looking --------------------------------------------------------------------------------------------------

    def view(self, requests: Requests, frame: str = "", box: tuple[float, float] = (0, 0)) -> View:
        """What is seen of a frame, which lies at a place of the window; of the whole page without one."""
        frames = self.frames_below(frame or self.main_frame)
        clip = {"x": box[0], "y": box[1], "width": WIDTH, "height": HEIGHT, "scale": 1}
        shot = self.call("Page.captureScreenshot", {"format": "png", "clip": clip})["data"]
        with Image.open(io.BytesIO(base64.b64decode(shot))) as picture:
            seen = picture.convert("RGB")
        snapshot = self.call("DOMSnapshot.captureSnapshot", OPTIONS)
        strings = snapshot["strings"]
        snapshot["documents"] = [one for one in snapshot["documents"] if strings[one["frameId"]] in frames]
        words = each(visible_words(snapshot))
        for document in snapshot["documents"]:
            keep_main_part(document, strings)
        return View(seen, words, each(visible_words(snapshot)), requests.missing(frames), requests.violations)


@contextmanager
def sight(browser: Browser) -> Iterator[Sight]:
    """A profile that is gone afterwards."""
    one = Sight(browser.tab)
    try:
        yield one
    finally:
        one.close()


@dataclass
class Requests:
    """What a page asked for while it settled."""

    open: set[str] = field(default_factory=set)
    violations: int = 0
    _frames: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Request → frame and address."""
    _failed: set[str] = field(default_factory=set)

    def note(self, method: str, params: dict[str, Any]) -> bool:
        """Note an event; whether it was about a request."""
        if method == "Audits.issueAdded":
            self.violations += params["issue"]["code"] == "ContentSecurityPolicyIssue"
            return False
        if not method.startswith("Network.") or "requestId" not in params:
            return False
        key = params["requestId"]
        if method == "Network.requestWillBeSent":
            self.open.update(() if params.get("type") in ENDLESS else {key})
            self._frames[key] = params.get("frameId", ""), params["request"]["url"]
        elif method == "Network.responseReceived" and params["response"]["status"] >= 400:
            self._failed.add(key)
        elif method == "Network.loadingFailed":
            self.open.discard(key)
            if not params.get("canceled") and params.get("errorText") != "net::ERR_ABORTED":
                self._failed.add(key)
        elif method == "Network.loadingFinished":
            self.open.discard(key)
        return method in {"Network.requestWillBeSent", "Network.loadingFinished", "Network.loadingFailed"}

    def missing(self, frames: set[str]) -> set[str]:
        """The addresses that pages in these frames asked for in vain; icons are asked for by browsers."""
        failed = (self._frames.get(key, ("", "")) for key in self._failed)
        return {url for frame, url in failed if frame in frames and not url.endswith("/favicon.ico")}


def keep_main_part(document: dict[str, Any], strings: list[str]) -> None:
    """Leave of a document's layout what is within its main part, without what is around that anywhere."""
    nodes, layout = document["nodes"], document["layout"]
    names = [
        ROLES.get(_role_of(attributes, strings), strings[name].upper() if name >= 0 else "")
        for name, attributes in zip(nodes["nodeName"], nodes["attributes"], strict=True)
    ]
    parents: list[int] = nodes["parentIndex"]
    has_part = any(name in PARTS for name in names)
    kept: list[bool] = []
    for node, parent in enumerate(parents):  # parents come before their children
        above = kept[parent] if parent >= 0 else not has_part
        kept.append((above or names[node] in PARTS) and names[node] not in AROUND)
    stays = [kept[node] for node in layout["nodeIndex"]]
    for name in ("nodeIndex", "styles", "text"):
        layout[name] = [value for value, stay in zip(layout[name], stays, strict=True) if stay]


def _role_of(attributes: list[int], strings: list[str]) -> str:
    """The role that an element declares; "" for none. Its attributes: names and values in turn."""
    for name, value in zip(attributes[::2], attributes[1::2], strict=True):
        if strings[name] == "role":
            return strings[value].strip().lower()
    return ""
