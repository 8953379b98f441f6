"""The page as it looks to others: in the dark, and on a phone. Each look is taken back when its picture is taken."""

from __future__ import annotations

import contextlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from archivebox.plugins.base.cdp import Params
    from archivebox.plugins.base.tab import Tab

WIDTH, HEIGHT, DENSITY = 390, 844, 2  # CSS pixels of a usual phone, and pixels of the picture to each of them
LOAD_TIME = 1.5  # seconds for pictures and fonts that only this look has
# Two frames, in which styles and observers are told, then what they ask for; a page that is not drawn goes on as well.
DRAWN = """new Promise(resolve => {
  setTimeout(resolve, LIMIT);
  requestAnimationFrame(() => requestAnimationFrame(async () => {
    const shown = [...document.images].filter(image => !image.complete && image.loading !== "lazy");
    await Promise.allSettled([document.fonts.ready, ...shown.map(image => image.decode())]);
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  }));
})""".replace("LIMIT", str(round(LOAD_TIME * 1000)))


@contextlib.contextmanager
def dark(tab: Tab) -> Iterator[None]:
    """Have the page look as to somebody who prefers dark (Media Queries 5, 11.5)."""
    preference = {"name": "prefers-color-scheme", "value": "dark"}
    with _emulating(
        tab, ("Emulation.setEmulatedMedia", {"features": [preference]}), ("Emulation.setEmulatedMedia", {})
    ):
        yield


@contextlib.contextmanager
def phone(tab: Tab) -> Iterator[None]:
    """Have the page look as on a phone that is held upright."""
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": DENSITY, "mobile": True}
    wanted = ("Emulation.setDeviceMetricsOverride", size)
    with _emulating(tab, wanted, ("Emulation.clearDeviceMetricsOverride", {})):
        yield


@contextlib.contextmanager
def _emulating(tab: Tab, wanted: tuple[str, Params], taken_back: tuple[str, Params]) -> Iterator[None]:
    tab.call(*wanted)
    try:
        tab.evaluate(DRAWN, wait=True)
        yield
    finally:
        tab.call(*taken_back)
        tab.evaluate(DRAWN, wait=True)
