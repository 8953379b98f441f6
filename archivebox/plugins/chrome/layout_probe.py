"""What can be seen of a page at one moment, as `look.js` tells it."""

from __future__ import annotations

import os
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

ENDLESS = 10_000  # milliseconds; an animation that goes on for longer is part of the page
PICTURES_MAX = 2000  # of which it is asked whether they have come


def layout_script() -> str:
    """Return the expression that looks."""
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "look.js"), encoding="utf-8") as file:
        return file.read().replace("ENDLESS", str(ENDLESS)).replace("MOST", str(PICTURES_MAX))


def likeness(seen: Params) -> int:
    """Return a number by which two looks at the same layout are known."""
    return zlib.crc32(seen["shape"].encode())
