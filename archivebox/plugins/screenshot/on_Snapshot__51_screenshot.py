#!/usr/bin/env python3
"""Take a picture of the page as it first meets the eye, `screenshot.png`, a small one of its top for lists,
`thumbnail.webp`, and one of its whole length, `full.jpg`, where that is longer than the window. If wished also the page
as it looks in the dark and on a phone.

The browser takes pictures as PNG, packed for speed: half the time of any other form, and sharp. What is made of them is
made once the tab is given back: the small one, and WebP instead where the PNG is large, pixel by pixel the same in a
quarter of the room and less. JPEG for the whole page: as PNG that takes three times as long and twice the room.
"""

from __future__ import annotations

import base64
import math

from drawn import main_hue, one_at_a_time, opened, packed, thumbnail
from variants import dark, phone

from archivebox.plugins.base import Settings, log, ready, succeeded, write_atomically
from archivebox.plugins.base.cdp import CallTimeout, CommandFailed
from archivebox.plugins.base.hook import remove
from archivebox.plugins.base.tab import DRAWN_ELEMENTS_MAX, Tab, open_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

SCREEN, DARK, PHONE = "screenshot", "dark", "phone"  # names of pictures of one screen, .png or .webp
THUMBNAIL, FULL = "thumbnail.webp", "full.jpg"
FULL_PIXELS = (
    10_000_000  # of the whole length, 7,000 px at the usual width; what has more is made smaller, to cost no more
)
FULL_HEIGHT_MAX = 16_000  # px of the page; Chromium draws 16,384 at most
QUALITY = 75  # of a JPEG, of 100
NARROW = 500  # px; a window that is narrower shows the page as a phone does
VIEW = {"format": "png", "optimizeForSpeed": True}
# A bar that the browser puts over JSON: nothing of the page's.
WITHOUT_BAR = "document.querySelector('body > .json-formatter-container')?.remove()"


def picture(tab: Tab, options: dict[str, object]) -> bytes:
    answer = tab.call("Page.captureScreenshot", options)
    return base64.b64decode(answer["data"])


def full_page(tab: Tab) -> tuple[bytes | None, int]:
    """Return the whole length as a JPEG, None where all of the page is on the first screen, and how many px it has."""
    metrics = tab.call("Page.getLayoutMetrics")
    size, seen = metrics["cssContentSize"], metrics["cssLayoutViewport"]
    width, height = seen["clientWidth"], min(size["height"], FULL_HEIGHT_MAX)
    if height <= seen["clientHeight"]:
        return None, 0
    scale = min(1.0, math.sqrt(FULL_PIXELS / (width * height)))
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
    options = {"format": "jpeg", "quality": QUALITY, "captureBeyondViewport": True, "clip": clip}
    return picture(tab, options), size["height"]


def capture_full_page(tab: Tab) -> str:
    """Keep the whole length; return what is to be said where the picture has not all of it."""
    jpeg, length = None, 0
    try:
        if (nodes := tab.count_elements()) > DRAWN_ELEMENTS_MAX:
            log(f"the page has {nodes:,} elements, more than {DRAWN_ELEMENTS_MAX:,}: only its first screen is kept")
        else:
            jpeg, length = full_page(tab)
    except (CallTimeout, CommandFailed) as error:
        log(f"the full page could not be drawn, the first screen is kept: {error}")
    if jpeg is None:
        remove(FULL)
    else:
        write_atomically(FULL, jpeg)
    return f": {FULL} has the first {FULL_HEIGHT_MAX:,} px of {length:,}" if length > FULL_HEIGHT_MAX else ""


def other_looks(tab: Tab, settings: Settings, first: bytes) -> dict[str, bytes]:
    """Take the pictures of the page in other looks that are wished for and differ from the first one."""
    ways: dict[str, AbstractContextManager[None]] = {}
    if settings.bool("SCREENSHOT_DARK"):
        ways[DARK] = dark(tab)
    if settings.bool("SCREENSHOT_PHONE") and tab.evaluate("innerWidth") > NARROW:
        ways[PHONE] = phone(tab)
    taken = {}
    for name, way in ways.items():
        try:
            with way:
                taken[name] = picture(tab, VIEW)
        except (CallTimeout, CommandFailed) as error:
            log(f"the page could not be drawn as {name}: {error}")
    return {name: png for name, png in taken.items() if png != first}


def keep_screen(png: bytes) -> tuple[str, dict[str, int] | None]:
    """Write the picture of what is seen, and the small one; return the name of the first, and its hue if it has one."""
    with one_at_a_time(), opened(png) as view:
        write_atomically(THUMBNAIL, thumbnail(view))
        webp, hue = packed(png, view), main_hue(view)
    return write_picture(SCREEN, png, webp), None if hue is None else {"hue": hue}


def keep_other(name: str, png: bytes | None) -> None:
    """Write one of the other pictures, or remove what an earlier attempt has left of it."""
    if png is None:
        remove(f"{name}.png")
        remove(f"{name}.webp")
        return
    with one_at_a_time(), opened(png) as view:
        webp = packed(png, view)
    write_picture(name, png, webp)


def write_picture(name: str, png: bytes, webp: bytes | None) -> str:
    """Write one of both forms, remove the other, and return the file's name."""
    remove(f"{name}.webp" if webp is None else f"{name}.png")
    return write_atomically(f"{name}.png", png) if webp is None else write_atomically(f"{name}.webp", webp)


def main() -> None:
    settings = Settings()
    with open_page(settings.timeout("SCREENSHOT")) as tab:
        tab.evaluate(WITHOUT_BAR)
        png = picture(tab, VIEW)
        cut = capture_full_page(tab) if settings.bool("SCREENSHOT_FULL_PAGE") else ""
        others = other_looks(tab, settings, png)
    ready()
    for name in (DARK, PHONE):
        keep_other(name, others.get(name))
    name, hue = keep_screen(png)
    succeeded(f"{name}{cut}", hue)


if __name__ == "__main__":
    main()
