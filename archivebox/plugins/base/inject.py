"""A library in a page: its script in a world of its own, whose functions are called with a deadline.

An isolated world sees the page's document, but none of its scripts, nor they the library
(https://chromedevtools.github.io/devtools-protocol/tot/Page/#method-createIsolatedWorld). The script is the file of an
installed package, as it is::

    script = read_package("@mozilla/readability", "Readability.js")
    with open_page(timeout, read_only=True) as tab:
        world = World(tab, "readability")
        world.put(script)
        article = world.call("() => new Readability(document.cloneNode(true)).parse()", timeout=10)
"""

from __future__ import annotations

import json
import os
import time

from archivebox.plugins.base.cdp import CALL_TIMEOUT, TooLong
from archivebox.plugins.base.records import misconfigured
from archivebox.plugins.base.settings import Settings
from archivebox.plugins.base.tab import script_value

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
ANSWER = "(name, id, answer) => globalThis[name].answer(id, answer)"


class World:
    """An isolated world of the tab's page, under a name that is the hook's alone; it ends with the hook's connection.

    Its functions are those of the main frame; what is put in every frame may speak to them by `postMessage`.
    """

    def __init__(self, tab: Tab, name: str) -> None:
        self._tab, self._name = tab, name
        self._answers: dict[str, Callable[[Any], object]] = {}
        asked = {"frameId": tab.target_id, "worldName": name}
        self._context: int = tab.call("Page.createIsolatedWorld", asked)["executionContextId"]

    def put(self, script: str, *, every_frame: bool = False, timeout: float = CALL_TIMEOUT) -> None:
        """Run a script in the world of the main frame, or of every frame, also of those that come later."""
        if every_frame:
            asked: Params = {"source": script, "worldName": self._name, "runImmediately": True}
            self._tab.call("Page.addScriptToEvaluateOnNewDocument", asked, timeout=timeout)
        else:
            expression = {"expression": script, "contextId": self._context}
            script_value(self._tab.call("Runtime.evaluate", expression, timeout=timeout))

    def expose(self, name: str, answer: Callable[[Any], object]) -> None:
        """Let scripts of the main frame's world ask us: `await name(question)` is what `answer(question)` returns.

        Both are JSON. Questions are answered while a `call` waits.
        """
        self._tab.call("Runtime.addBinding", {"name": name, "executionContextName": self._name})
        self._answers[name] = answer
        self.call(ASK, name)

    def call(self, function: str, *arguments: object, timeout: float = CALL_TIMEOUT) -> Any:
        """Return what a JavaScript function, or its promise, returns. Raises CommandFailed if it throws, TooLong."""
        deadline = min(time.monotonic() + timeout, self._tab.deadline)
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
            "arguments": [{"value": argument} for argument in arguments],
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
