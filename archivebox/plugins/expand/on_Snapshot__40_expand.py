#!/usr/bin/env python3
"""Open what the page keeps folded, so that all that follows sees it."""

from __future__ import annotations

import os

from archivebox.plugins.base import Settings, noresults, succeeded
from archivebox.plugins.base.inject import World
from archivebox.plugins.base.tab import open_page

SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "expand.js")
PARTS_MAX = 200  # of one page: more of them are a list, and no page with parts
TIME_MAX = 3.0  # seconds
SPARE = 5.0  # seconds for the page to answer beyond those that the script gives itself


def sentence(opened: dict[str, object]) -> str:
    """Say what was opened, as in `opened 3 details, 2 parts`."""
    counts = ", ".join(f"{opened[name]} {name}" for name in ("details", "parts") if opened[name])
    return f"opened {counts}" + (f", stopped: {opened['stopped']}" if opened["stopped"] else "")


def main() -> None:
    with open(SCRIPT, encoding="utf-8") as file:
        script = file.read()
    with open_page(Settings().timeout("EXPAND")) as tab:
        opened = World(tab, "expand").call(script, PARTS_MAX, TIME_MAX, timeout=TIME_MAX + SPARE)
    if not opened["details"] and not opened["parts"]:
        noresults("nothing is folded")
    succeeded(sentence(opened), opened)


if __name__ == "__main__":
    main()
