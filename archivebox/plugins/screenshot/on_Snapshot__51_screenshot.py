#!/usr/bin/env python3
"""Take a picture of the page as it first meets the eye, `screenshot.png`, a small one of its top for lists,
`thumbnail.webp`, and if wished one of its whole length, `full.jpg`.

The browser takes the first as PNG, packed for speed: half the time of any other form, and sharp. What is made of it is
made once the tab is given back: the small one, and `screenshot.webp` instead where the PNG is large, pixel by pixel
the same in a quarter of the room and less. JPEG for the whole page: as PNG that takes three times as long and twice
the room.
"""

from __future__ import annotations

import base64

from drawn import main_hue, one_at_a_time, opened, packed, thumbnail

from archivebox.plugins.base import Settings, log, ready, succeeded, write_atomically
from archivebox.plugins.base.cdp import CallTimeout, CommandFailed
from archivebox.plugins.base.files import remove
from archivebox.plugins.base.tab import Tab, open_page

FILE, LARGE, THUMBNAIL, FULL = "screenshot.png", "screenshot.webp", "thumbnail.webp", "full.jpg"
VIEW = {"format": "png", "optimizeForSpeed": True}
# A bar that the browser puts over JSON: nothing of the page's.
WITHOUT_BAR = "document.querySelector('body > .json-formatter-container')?.remove()"


def picture(tab: Tab, options: dict[str, object]) -> bytes:
    answer = tab.call("Page.captureScreenshot", options)
    return base64.b64decode(answer["data"])


def keep(png: bytes) -> tuple[str, dict[str, int] | None]:
    """Write the picture of what is seen, and the small one; return the name of the first, and its hue if it has one."""
    with one_at_a_time(), opened(png) as view:
        write_atomically(THUMBNAIL, thumbnail(view))
        webp, hue = packed(png, view), main_hue(view)
    remove(LARGE if webp is None else FILE)
    name = write_atomically(FILE, png) if webp is None else write_atomically(LARGE, webp)
    return name, None if hue is None else {"hue": hue}


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
        png = picture(tab, VIEW)
        if settings.bool("SCREENSHOT_FULL_PAGE"):
            try:
                write_atomically(FULL, full_page(tab, settings))
            except (CallTimeout, CommandFailed) as error:
                log(f"the full page could not be drawn, the first screen is kept: {error}")
    ready()
    succeeded(*keep(png))


if __name__ == "__main__":
    main()
