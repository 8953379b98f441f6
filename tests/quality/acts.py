"""Owns what a reader does with a page that lives by scripts, and whether what was recorded is then shown."""

from __future__ import annotations

from tests.quality.eyes import Sight

LABELS = {"details": "recorded data", "query": "recorded query", "route": "route change", "reload": "reload"}
DETAILS = "document.querySelector('#details')?.textContent"


def act(sight: Sight, frame: str, name: str) -> bool:
    """Do one thing in a frame; whether it worked."""
    return _ACTS[name](sight, frame)


def _details(sight: Sight, frame: str) -> bool:
    """Ask for the details of an item, which were fetched ahead."""
    return _click(sight, frame, 'button[data-item="1"]', f"{DETAILS}?.includes('compass')")


def _query(sight: Sight, frame: str) -> bool:
    """The same by POST."""
    return _click(sight, frame, "#more", f"{DETAILS}?.includes('lantern')")


def _route(sight: Sight, frame: str) -> bool:
    """Go to another route without a load."""
    arrived = (
        "document.querySelector('#about')?.textContent.includes('boathouse') && location.pathname.endsWith('/about')"
    )
    return _click(sight, frame, "#to-about", arrived)


def _reload(sight: Sight, frame: str) -> bool:
    """Load a deep route again."""
    shown = "document.querySelector('#item')?.textContent.includes('lantern')"
    marked = sight.value(
        "globalThis.isBefore = true; document.documentElement.dataset.before = '1'", sight.world(frame)
    )
    sight.value("location.reload()", sight.world(frame))
    fresh = f"!document.documentElement.dataset.before && {shown}"
    return bool(marked) and bool(sight.wait_for(lambda: sight.value(fresh, sight.world(frame))))


def _click(sight: Sight, frame: str, selector: str, result: str) -> bool:
    if not sight.value(f"Boolean(document.querySelector({selector!r})?.click() ?? true)", sight.world(frame)):
        return False
    return bool(sight.wait_for(lambda: sight.value(result, sight.world(frame))))


_ACTS = {"details": _details, "query": _query, "route": _route, "reload": _reload}
