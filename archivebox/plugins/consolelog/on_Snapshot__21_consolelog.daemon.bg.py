#!/usr/bin/env python3
"""Keep what the page's scripts say, from before they begin until the tab is closed, one object a line."""

from __future__ import annotations

import json
import os
import select

from archivebox.plugins.base import StopRequest, noresults, ready, sibling, succeeded, try_again
from archivebox.plugins.base.cdp import CDPConnection, CDPError, TargetGone
from archivebox.plugins.base.engine import end_with_engine
from archivebox.plugins.base.tab import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import CDPEvent, Params

FILE = "console.jsonl"
ENTRIES_MAX = 2_000  # of a page; further ones are only counted
TEXT_MAX = 10_000  # characters of one entry
MESSAGE_TIME = 1.0  # seconds for the rest of a message that has begun
STOP_TIME = 1.0  # seconds between the end of the tab and the TERM that says that it was meant


class Console:
    """The file, and how much is in it."""

    def __init__(self) -> None:
        self._file = open(FILE, "wb", buffering=0)  # noqa: SIM115  (open as long as this process)
        self.count = self.errors = 0

    def handle_event(self, event: CDPEvent) -> None:
        """Write down an event, if it is something that was said."""
        entry = _entry(event)
        if entry is None:
            return
        self.count += 1
        self.errors += entry["level"] == "error"
        if self.count <= ENTRIES_MAX:
            self._file.write(json.dumps(entry).encode() + b"\n")


def _entry(event: CDPEvent) -> Params | None:
    params = event.params
    if event.method == "Runtime.consoleAPICalled":
        text = " ".join(_text(argument) for argument in params["args"])
        frames = params.get("stackTrace", {}).get("callFrames") or [{}]
        return _entry_of(
            params["timestamp"], params["type"], text, frames[0].get("url", ""), frames[0].get("lineNumber")
        )
    if event.method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        text = details.get("exception", {}).get("description") or details["text"]
        return _entry_of(params["timestamp"], "error", text, details.get("url", ""), details.get("lineNumber"))
    if event.method == "Log.entryAdded":
        entry = params["entry"]
        return _entry_of(
            entry["timestamp"], entry["level"], entry["text"], entry.get("url", ""), entry.get("lineNumber")
        )
    return None


def _entry_of(milliseconds: float, level: str, text: str, url: str, line: int | None) -> Params:
    entry: Params = {"time": milliseconds / 1000, "level": level, "text": text[:TEXT_MAX], "url": url}
    return entry if line is None else entry | {"line": line + 1}


def _text(argument: Params) -> str:
    """Return a value (Runtime.RemoteObject) as the console shows it."""
    if "value" in argument:
        value = argument["value"]
        return value if isinstance(value, str) else json.dumps(value)
    return str(argument.get("description") or argument.get("unserializableValue") or argument["type"])


def listen(console: Console, connection: CDPConnection, stop: StopRequest) -> str:
    """Take what is said until told to stop; return why it ended before that, '' where it did not."""
    sources: list[CDPConnection | StopRequest] = [connection, stop]
    try:
        while not stop:
            if connection.pending or connection in select.select(sources, [], [])[0]:
                event = connection.next_event(MESSAGE_TIME)
                if event is not None:
                    console.handle_event(event)
    except TargetGone as error:
        return "" if select.select([stop], [], [], STOP_TIME)[0] else str(error)
    return ""


def main() -> None:
    stop = StopRequest()
    end_with_engine()
    target = read_json(os.path.join(sibling("chrome"), "target.json"))
    if target is None:
        try_again("No tab is open for this Snapshot: the chrome plugin's hooks have to run first.")
    console = Console()
    try:
        connection = CDPConnection.open(target["socket"], target["target_id"])
        for method in ("Runtime.enable", "Log.enable"):
            connection.call(method)
    except CDPError as error:
        try_again(f"The tab cannot be listened to: {error}")
    ready()
    if lost := listen(console, connection, stop):
        try_again(f"The tab is lost: {lost}")
    if not console.count:
        os.unlink(FILE)
        noresults("the console is empty")
    succeeded(FILE, {"entries": console.count, "errors": console.errors})


if __name__ == "__main__":
    main()
