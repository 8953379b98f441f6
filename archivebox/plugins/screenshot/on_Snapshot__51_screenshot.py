#!/usr/bin/env python3
"""Take a picture of the page as it first meets the eye, `screenshot.png`, a small one of its top for lists,
`thumbnail.webp`, and if wished one of its whole length, `full.jpg`.

PNG for the viewport: its text is sharp, and packed for speed it takes half the time for a quarter more room. Where that
is large, as of photographs, `screenshot.webp` instead, in half of the room and less. WebP for the small one: 6 KB, and
sharp, since the browser draws it small. JPEG for the whole page: as PNG that takes three times as long and twice the
room.
"""

from __future__ import annotations

import base64

from archivebox.plugins.base import Settings, log, succeeded, write_atomically
from archivebox.plugins.base.cdp import CallTimeout, CommandFailed
from archivebox.plugins.base.files import remove
from archivebox.plugins.base.tab import Tab, open_page

FILE, LARGE, THUMBNAIL, FULL = "screenshot.png", "screenshot.webp", "thumbnail.webp", "full.jpg"
LARGE_SIZE = 400_000  # bytes of a PNG above which the time for a second picture is well spent
LARGE_QUALITY = 85
WEBP_SIDE = 16_383  # px; the longest that WebP knows
THUMBNAIL_WIDTH, THUMBNAIL_SHAPE = 360, 5 / 8  # px; height to width, as lists show it
# A bar that the browser puts over JSON: nothing of the page's.
WITHOUT_BAR = "document.querySelector('body > .json-formatter-container')?.remove()"


def picture(tab: Tab, options: dict[str, object]) -> bytes:
    answer = tab.call("Page.captureScreenshot", options)
    return base64.b64decode(answer["data"])


def keep_view(tab: Tab) -> str:
    """Write the picture of what is seen; return its name."""
    png = picture(tab, {"format": "png", "optimizeForSpeed": True})
    seen = tab.call("Page.getLayoutMetrics")["cssLayoutViewport"]
    if len(png) > LARGE_SIZE and max(seen["clientWidth"], seen["clientHeight"]) <= WEBP_SIDE:
        remove(FILE)
        return write_atomically(LARGE, picture(tab, {"format": "webp", "quality": LARGE_QUALITY}))
    remove(LARGE)
    return write_atomically(FILE, png)


def thumbnail(tab: Tab) -> bytes:
    width = tab.call("Page.getLayoutMetrics")["cssLayoutViewport"]["clientWidth"]
    clip = {"x": 0, "y": 0, "width": width, "height": width * THUMBNAIL_SHAPE, "scale": THUMBNAIL_WIDTH / width}
    return picture(tab, {"format": "webp", "quality": 60, "optimizeForSpeed": True, "clip": clip})


def full_page(tab: Tab, settings: Settings) -> bytes:
    size = tab.call("Page.getLayoutMetrics")["cssContentSize"]
    height = min(size["height"], settings.int("SCREENSHOT_FULL_PAGE_HEIGHT"))
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
    quality = settings.int("SCREENSHOT_QUALITY")
    options = {"format": "jpeg", "quality": quality, "captureBeyondViewport": True, "clip": clip}
    return picture(tab, options)


def main() -> None:
    settings = Settings()
    with open_page(settings.timeout("SCREENSHOT")) as tab:
        tab.evaluate(WITHOUT_BAR)
        name = keep_view(tab)
        write_atomically(THUMBNAIL, thumbnail(tab))
        if settings.bool("SCREENSHOT_FULL_PAGE"):
            try:
                write_atomically(FULL, full_page(tab, settings))
            except (CallTimeout, CommandFailed) as error:
                log(f"the full page could not be drawn, the first screen is kept: {error}")
    succeeded(name)


if __name__ == "__main__":
    main()
