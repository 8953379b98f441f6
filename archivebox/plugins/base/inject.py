"""A library in a page: its script in a world of its own, whose functions are called with a deadline.

An isolated world sees the page's document, but none of its scripts, nor they the library
(https://chromedevtools.github.io/devtools-protocol/tot/Page/#method-createIsolatedWorld). The script is the file of an
installed package, as it is::

    script = read_package("@mozilla/readability", "Readability.js")
    with open_page(timeout, read_only=True) as tab:
        world = World(tab, "readability")
        world.put(script)
        article = world.call("() => new Readability(document.cloneNode(true)).parse()", timeout=10)

`ShownPage` is such a world that sees the page as it is shown, shadow roots and frames included (`shown.js`). A closed
shadow root is known to the browser alone: `find_closed_roots` asks it, once for a page as it has settled; the others
take the numbers out of `closed_roots.json` in the folder of `chrome`.
"""

from __future__ import annotations

import json
import os
import time

from archivebox.lib.machine_load import extended
from archivebox.plugins.base.cdp import CALL_TIMEOUT, CommandFailed, TooLong
from archivebox.plugins.base.hook import misconfigured, sibling
from archivebox.plugins.base.settings import Settings
from archivebox.plugins.base.tab import read_json, script_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from archivebox.plugins.base.cdp import Params
    from archivebox.plugins.base.tab import Tab

# A binding of the protocol takes one text and answers nothing: here it becomes a function that gives a promise.
ASK = """name => {
    const ask = globalThis[name], waiting = new Map();
    let last = 0;
    globalThis[name] = question => new Promise(resolve => {
        waiting.set(++last, resolve);
        ask(JSON.stringify([last, question]));
    });
    globalThis[name].answer = (id, answer) => {
        waiting.get(id)(answer);
        waiting.delete(id);
    };
}"""
# Trusted Types of a page (https://www.w3.org/TR/trusted-types/) hold for isolated worlds, too: without a policy of its
# own no library may parse HTML there. The page's scripts get nothing of it.
TRUST = """() => {
    const same = text => text;
    try {
        trustedTypes.createPolicy("default", {createHTML: same, createScript: same, createScriptURL: same});
        return true;
    } catch {}
    try {
        new DOMParser().parseFromString("", "text/html");
        return true;
    } catch {
        return false;
    }
}"""
# Where the page allows no such policy, HTML is parsed into documents of a frame that has no rules: it is there for a
# moment, and its documents outlive it.
FREE = """() => {
    const frame = document.documentElement.appendChild(document.createElement("iframe"));
    const parser = new frame.contentWindow.DOMParser(), {implementation} = frame.contentDocument;
    frame.remove();
    DOMParser.prototype.parseFromString = (text, type) => parser.parseFromString(text, type);
    DOMImplementation.prototype.createHTMLDocument = title => implementation.createHTMLDocument(title);
    for (const name of ["text", "textContent"])  // of a script that the page is given, and will not run
        Object.defineProperty(HTMLScriptElement.prototype, name, {
            get() { return Node.prototype.__lookupGetter__("textContent").call(this); },
            set(text) { this.replaceChildren(text); },
        });
    globalThis.isFreed = true;
}"""
ANSWER = "(name, id, answer) => globalThis[name].answer(id, answer)"


class PageNode:
    """A node of the document, as a world knows it."""

    __slots__ = ("object_id",)

    def __init__(self, object_id: str) -> None:
        self.object_id = object_id


class World:
    """An isolated world of the tab's page, under a name that is the hook's alone; it ends with the hook's connection.

    Its functions are those of the main frame; what is put in every frame may speak to them by `postMessage`.
    """

    def __init__(self, tab: Tab, name: str, frame: str = "") -> None:
        """`frame`: the identifier of another frame that it is of."""
        self._tab, self._name = tab, name
        self._answers: dict[str, Callable[[Any], object]] = {}
        asked = {"frameId": frame or tab.target_id, "worldName": name}
        self._context: int = tab.call("Page.createIsolatedWorld", asked)["executionContextId"]

    def put(self, script: str, *, every_frame: bool = False, timeout: float = CALL_TIMEOUT) -> None:
        """Run a script in the world of the main frame, or of every frame, also of those that come later."""
        if not self.call(TRUST):
            self._free()
        if every_frame:
            asked: Params = {"source": f"({TRUST})(); {script}", "worldName": self._name, "runImmediately": True}
            self._tab.call("Page.addScriptToEvaluateOnNewDocument", asked, timeout=timeout)
        else:
            expression = {"expression": script, "contextId": self._context}
            script_value(self._tab.call("Runtime.evaluate", expression, timeout=timeout))

    def _free(self) -> None:
        """Have HTML parsed as if the page had no policy; a new frame has none while the browser sets them aside."""
        self._tab.call("Page.enable")
        self._tab.call("Page.setBypassCSP", {"enabled": True})
        try:
            self.call(FREE)
        finally:
            self._tab.call("Page.setBypassCSP", {"enabled": False})

    def expose(self, name: str, answer: Callable[[Any], object]) -> None:
        """Let scripts of the main frame's world ask us: `await name(question)` is what `answer(question)` returns.

        Both are JSON. Questions are answered while a `call` waits.
        """
        self._tab.call("Runtime.addBinding", {"name": name, "executionContextName": self._name})
        self._answers[name] = answer
        self.call(ASK, name)

    def call(self, function: str, *arguments: object, timeout: float = CALL_TIMEOUT) -> Any:
        """Return what a JavaScript function, or its promise, returns. Raises CommandFailed if it throws, TooLong.

        Arguments are JSON, or nodes.
        """
        deadline = min(time.monotonic() + extended(timeout), self._tab.deadline)
        connection = self._tab.connection
        asked = connection.begin("Runtime.callFunctionOn", self._function(function, arguments))
        while (reply := connection.reply(asked)) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TooLong(f"{self._name} was not done within {timeout:g} s")
            event = connection.next_event(left)
            if event is not None and event.method == "Runtime.bindingCalled":
                self._answer(event.params)
        return script_value(reply)

    def node(self, number: int) -> PageNode | None:
        """Return the node of the browser's number (backend node id), None where it is gone."""
        wanted = {"backendNodeId": number, "executionContextId": self._context}
        try:
            found = self._tab.call("DOM.resolveNode", wanted)
        except CommandFailed:
            return None
        return PageNode(found["object"]["objectId"]) if "objectId" in found["object"] else None

    def _answer(self, params: Params) -> None:
        answer = self._answers.get(params["name"])
        if answer is not None and params["executionContextId"] == self._context:
            number, question = json.loads(params["payload"])
            arguments = (params["name"], number, answer(question))
            self._tab.connection.send("Runtime.callFunctionOn", self._function(ANSWER, arguments))

    def _function(self, function: str, arguments: tuple[object, ...]) -> Params:
        return {
            "functionDeclaration": function,
            "executionContextId": self._context,
            "arguments": [
                {"objectId": each.object_id} if isinstance(each, PageNode) else {"value": each} for each in arguments
            ],
            "returnByValue": True,
            "awaitPromise": True,
        }


def read_package(package: str, file: str) -> str:
    """Return the text of a file of an installed npm package; without it the hook ends with a sentence."""
    modules = Settings().path("NODE_MODULES_DIR")
    alone = os.path.join(os.path.dirname(modules), "files")  # where those are of which nothing but the files is wanted
    places = [os.path.join(folder, package, file) for folder in (modules, alone)]
    path = next(filter(os.path.isfile, places), None)
    if path is None:
        misconfigured(f"{package} is not installed: there is no {places[0]}. Install it with: archivebox install")
    with open(path, encoding="utf-8") as opened:
        return opened.read()


CLOSED_ROOTS = "closed_roots.json"
SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "shown.js")
MAX_ELEMENTS = 100_000  # of a page whose closed shadow roots are looked for: the browser tells of each of its nodes
INSIDE = "most => shown.inside(most)"
MAX_FRAMES = 30  # of other origins
MAX_LINKS = 10_000  # of one such frame


class ShownPage:
    """A world that sees all of the page: `call` a function that uses `shown`.

    `frames`: whether frames of other origins count; `only_large`: those alone that fill half of the window,
    or of any size where the page has hardly any words of its own.
    """

    def __init__(self, tab: Tab, name: str, *, frames: bool = True, only_large: bool = False) -> None:
        self._tab, self._name, self._only_large = tab, name, only_large
        self.world = self._world()
        self.call = self.world.call
        record = read_json(os.path.join(sibling("chrome"), CLOSED_ROOTS)) or {"roots": []}
        if roots := [node for number in record["roots"] if (node := self.world.node(number))]:
            self.call("(...roots) => shown.know(roots)", *roots)
        if frames and (inside := tab.call("Page.getFrameTree")["frameTree"].get("childFrames")):
            tab.call("DOM.enable")  # to be asked for the elements of frames
            self._left = MAX_FRAMES
            self._tell_of_frames(self.world, inside)

    def _world(self, frame: str = "") -> World:
        world = World(self._tab, self._name, frame)
        with open(SCRIPT, encoding="utf-8") as file:
            world.put(file.read())
        return world

    def _tell_of_frames(self, world: World, frames: list[Params]) -> None:
        """Tell a frame's world what those of its frames show that it cannot look into."""
        for each in frames:
            element = self._element_of(world, each["frame"]["id"])
            if element is None or self._left <= 0:
                continue
            if not world.call("(node, onlyLarge) => shown.isForeign(node, onlyLarge)", element, self._only_large):
                continue
            self._left -= 1
            its = self._world(each["frame"]["id"])
            self._tell_of_frames(its, each.get("childFrames", []))
            world.call("(node, inside) => shown.tell(node, inside)", element, its.call(INSIDE, MAX_LINKS))

    def _element_of(self, world: World, frame: str) -> PageNode | None:
        try:
            return world.node(self._tab.call("DOM.getFrameOwner", {"frameId": frame})["backendNodeId"])
        except CommandFailed:  # it has gone meanwhile
            return None


def find_closed_roots(tab: Tab) -> list[int]:
    """Return the numbers (backend node ids) of the page's closed shadow roots.

    The browser counts what is in them as well: only where it finds more elements than a script that cannot look into
    them, it is asked for all of the page's nodes.
    """
    page = World(tab, "closed-roots")
    with open(SCRIPT, encoding="utf-8") as file:
        page.put(file.read())
    count: int = page.call("() => shown.count()")
    if count > MAX_ELEMENTS:
        return []
    tab.call("DOM.enable")
    tab.call("DOM.getDocument", {"depth": 0})  # without it nothing is searched
    if tab.call("DOM.performSearch", {"query": "<"})["resultCount"] <= count:
        return []
    document = tab.call("DOM.getDocument", {"depth": -1, "pierce": True})["root"]
    return [root["backendNodeId"] for root in _shadow_roots(document) if root["shadowRootType"] == "closed"]


def _shadow_roots(document: Params) -> list[Params]:
    found, waiting = [], [document]
    while waiting:
        node = waiting.pop()
        roots = node.get("shadowRoots", [])
        found += roots
        waiting += [*node.get("children", []), *roots]
        if "contentDocument" in node:
            waiting.append(node["contentDocument"])
    return found
