"""What the browser takes the documents of a page and of its frames for: a line of `documents.jsonl` each.

A document that does not declare its charset is read as the browser guesses, by all of its bytes; nobody could say that
afterwards. The same goes for types, which browsers guess where they are missing or wrong.
"""

from __future__ import annotations

import json

from archivebox.plugins.base.responses import DOCUMENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from archivebox.plugins.base.cdp import CDPEvent, Params

    Ask = Callable[[str, Params, str, Callable[[Params | None], None]], None]

WORLD = "archivebox"  # where scripts of the page have changed nothing
# By the getters themselves: `<form name="contentType">` would answer for the document.
FACTS = """(() => {
  const own = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  return {mime: own("contentType"), charset: own("characterSet")};
})()"""
WISHES: tuple[tuple[str, Params], ...] = (("Page.enable", {}), ("Page.setLifecycleEventsEnabled", {"enabled": True}))


class Documents:
    """Asks each document once its text has been read; `ask` is the recorder's."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._urls: dict[str, str] = {}  # by the loader, which has the number of the request

    def requested(self, loader: str, url: str) -> None:
        """Take note of a request for a document, or of where it was redirected to."""
        self._urls[loader] = url

    def forget(self, loader: str) -> None:
        """Ask nothing of a document that is not the site's."""
        self._urls.pop(loader, None)

    def took(self, event: CDPEvent) -> None:
        """Take Page.lifecycleEvent."""
        params, session = event.params, event.session
        url = self._urls.pop(params["loaderId"], "") if params["name"] == "DOMContentLoaded" else ""
        if not url:
            return

        def evaluate(answer: Params | None) -> None:
            if answer is not None:
                wish = {"expression": FACTS, "contextId": answer["executionContextId"], "returnByValue": True}
                self._ask("Runtime.evaluate", wish, session, lambda said: _write(url, said))

        self._ask("Page.createIsolatedWorld", {"frameId": params["frameId"], "worldName": WORLD}, session, evaluate)


def _write(url: str, said: Params | None) -> None:
    facts = said["result"].get("value") if said else None
    if facts:
        with open(DOCUMENTS, "ab") as file:
            file.write(json.dumps({"url": url, **facts}, separators=(",", ":")).encode() + b"\n")
