"""The tab that was opened ahead with a crawl's browser: its first page takes it instead of opening one."""

from __future__ import annotations

import os

from archivebox.plugins.base.files import write_atomically

FILE = "first_tab"  # in the folder of the browser's hook: the target of the tab, until somebody takes it
UNHELD = "about:blank#archivebox"  # its address until then


def offer_tab(target: str) -> None:
    write_atomically(FILE, target, secret=True)


def take_tab(folder: str) -> str:
    """Return the target of the tab, once; empty where there is none, or another page has it."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, encoding="ascii") as file:
            target = file.read()
        os.unlink(path)  # of two who have read it, one can
    except FileNotFoundError:
        return ""
    return target
