#!/usr/bin/env python3
"""Start the browser of the next crawl ahead, hand it to that crawl's hook, and end it when nobody has it any more.

The engine starts this next to a server, with the settings of the latest crawl and the port of the next one. What leads
to it is the socket whose descriptor SPARE_SOCKET names: its other end is with the engine, then with the hook.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket

from browser import Browser
from browser_profile import is_fresh
from first_tab import UNHELD
from spare_browser import ANSWER_MAX, REFUSE, SOCKET, STOPPED, TAKE

from archivebox.plugins.base import Settings, StopRequest, log
from archivebox.plugins.base.cdp import CDPConnection, CDPError
from archivebox.plugins.base.lifeline import end_with_engine

READY = b"ready"
NOT_WANTED = 3  # exit status that says: with such settings nobody can use it


def open_tab(browser: Browser) -> str:
    """Open a tab for the crawl's first page, which takes 0.1 s; returns its target."""
    tab = {"url": UNHELD, "newWindow": True}
    target: str = CDPConnection(browser.pipe).call("Target.createTarget", tab)["targetId"]
    return target


def offer(browser: Browser, holder: socket.socket, stop: StopRequest) -> int:
    """Hold the browser until it ends, or until nobody is at the other end any more; whoever asks there gets it.

    Returns the exit status.
    """
    process = os.pidfd_open(browser.pid)
    holder.send(READY)
    first_tab = open_tab(browser)
    while not stop:
        there = select.select([stop.fileno(), holder.fileno(), process], [], [])[0]
        if process in there:
            break
        if holder.fileno() not in there:
            continue
        asked = holder.recv(ANSWER_MAX)
        if asked != TAKE:
            return NOT_WANTED if asked == REFUSE else 0
        facts = {
            "pid": browser.pid,
            "command": browser.command,
            "profile": browser.profile,
            "folder": browser.folder,
            "folder_in_memory": browser.folder_in_memory,
            "tab": first_tab,
        }
        socket.send_fds(holder, [json.dumps(facts).encode()], [browser.pipe.fileno(), process])
        browser.pipe.close()  # from now on it ends with the hook, however that ends
    return 0


def main() -> int:
    stop = StopRequest()
    end_with_engine()
    holder = socket.socket(fileno=int(os.environ.pop(SOCKET)))
    os.set_inheritable(holder.fileno(), False)
    settings = Settings()
    if not is_fresh(settings):
        return NOT_WANTED  # a profile of somebody's is copied when a crawl begins, as it is then
    browser = Browser(settings)
    try:
        browser.version()
        return offer(browser, holder, stop)
    except ConnectionError:  # with something unread in its socket, the other end has gone
        return 0
    except CDPError as error:
        log(str(error))
        return 1
    finally:
        browser.stop()
        with contextlib.suppress(OSError):  # mostly nobody is there any more who would hear it
            holder.send(STOPPED)
        browser.end()


if __name__ == "__main__":
    raise SystemExit(main())
