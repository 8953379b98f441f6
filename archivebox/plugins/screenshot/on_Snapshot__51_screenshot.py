#!/usr/bin/env python3
"""Take a picture of the page as it first meets the eye, `screenshot.png`, and if wished of its length, `full.jpg`.

PNG for the viewport (105 ms, sharp text), JPEG for the whole page: as PNG that takes three times as long and twice
the room.
"""

from __future__ import annotations

import base64

from archivebox.plugins.base import Settings, log, succeeded, write_atomically
from archivebox.plugins.base.cdp import CommandFailed
from archivebox.plugins.base.tab import Tab, open_page

FILE, FULL = "screenshot.png", "full.jpg"


def picture(tab: Tab, timeout: float, options: dict[str, object]) -> bytes:
    answer = tab.call("Page.captureScreenshot", options, timeout=timeout)
    return base64.b64decode(answer["data"])


def full_page(tab: Tab, settings: Settings, timeout: float) -> bytes:
    size = tab.call("Page.getLayoutMetrics")["cssContentSize"]
    height = min(size["height"], settings.int("SCREENSHOT_FULL_PAGE_HEIGHT"))
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
    quality = settings.int("SCREENSHOT_QUALITY")
    options = {"format": "jpeg", "quality": quality, "captureBeyondViewport": True, "clip": clip}
    return picture(tab, timeout, options)


def main() -> None:
    settings = Settings()
    timeout = settings.timeout("SCREENSHOT")
    with open_page(timeout) as tab:
        write_atomically(FILE, picture(tab, timeout, {"format": "png"}))
        if settings.bool("SCREENSHOT_FULL_PAGE"):
            try:
                write_atomically(FULL, full_page(tab, settings, timeout))
            except CommandFailed as error:
                log(f"the full page could not be drawn, the first screen is kept: {error}")
    succeeded(FILE)


if __name__ == "__main__":
    main()
