"""The page as it is shown, shadow roots and frames included: `shown.js` in a world of the tab's page.

A closed shadow root is known to the browser alone. `find_closed_roots` asks it, once for a page as it has settled; the
others take the numbers out of `closed_roots.json` in the folder of `chrome`.
"""

from __future__ import annotations

import os

from archivebox.plugins.base.cdp import CommandFailed
from archivebox.plugins.base.files import sibling
from archivebox.plugins.base.inject import World
from archivebox.plugins.base.tab import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params
    from archivebox.plugins.base.inject import PageNode
    from archivebox.plugins.base.tab import Tab

CLOSED_ROOTS = "closed_roots.json"
SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "shown.js")
MAX_ELEMENTS = 100_000  # of a page whose closed shadow roots are looked for: the browser tells of each of its nodes
INSIDE = "most => shown.inside(most)"
MAX_FRAMES = 30  # of other origins
MAX_LINKS = 10_000  # of one such frame


class ShownPage:
    """A world that sees all of the page: `call` a function that uses `shown`.

    `frames`: whether frames of other origins count; `only_large`: those alone that fill half of the window,
    or of any size where the page has hardly any words of its own.
    """

    def __init__(self, tab: Tab, name: str, *, frames: bool = True, only_large: bool = False) -> None:
        self._tab, self._name, self._only_large = tab, name, only_large
        self.world = self._world()
        self.call = self.world.call
        record = read_json(os.path.join(sibling("chrome"), CLOSED_ROOTS)) or {"roots": []}
        if roots := [node for number in record["roots"] if (node := self.world.node(number))]:
            self.call("(...roots) => shown.know(roots)", *roots)
        if frames and (inside := tab.call("Page.getFrameTree")["frameTree"].get("childFrames")):
            tab.call("DOM.enable")  # to be asked for the elements of frames
            self._left = MAX_FRAMES
            self._tell_of_frames(self.world, inside)

    def _world(self, frame: str = "") -> World:
        world = World(self._tab, self._name, frame)
        with open(SCRIPT, encoding="utf-8") as file:
            world.put(file.read())
        return world

    def _tell_of_frames(self, world: World, frames: list[Params]) -> None:
        """Tell a frame's world what those of its frames show that it cannot look into."""
        for each in frames:
            element = self._element_of(world, each["frame"]["id"])
            if element is None or self._left <= 0:
                continue
            if not world.call("(node, onlyLarge) => shown.isForeign(node, onlyLarge)", element, self._only_large):
                continue
            self._left -= 1
            its = self._world(each["frame"]["id"])
            self._tell_of_frames(its, each.get("childFrames", []))
            world.call("(node, inside) => shown.tell(node, inside)", element, its.call(INSIDE, MAX_LINKS))

    def _element_of(self, world: World, frame: str) -> PageNode | None:
        try:
            return world.node(self._tab.call("DOM.getFrameOwner", {"frameId": frame})["backendNodeId"])
        except CommandFailed:  # it has gone meanwhile
            return None


def find_closed_roots(tab: Tab) -> list[int]:
    """Return the numbers (backend node ids) of the page's closed shadow roots.

    The browser counts what is in them as well: only where it finds more elements than a script that cannot look into
    them, it is asked for all of the page's nodes.
    """
    page = World(tab, "closed-roots")
    with open(SCRIPT, encoding="utf-8") as file:
        page.put(file.read())
    count: int = page.call("() => shown.count()")
    if count > MAX_ELEMENTS:
        return []
    tab.call("DOM.enable")
    tab.call("DOM.getDocument", {"depth": 0})  # without it nothing is searched
    if tab.call("DOM.performSearch", {"query": "<"})["resultCount"] <= count:
        return []
    document = tab.call("DOM.getDocument", {"depth": -1, "pierce": True})["root"]
    return [root["backendNodeId"] for root in _shadow_roots(document) if root["shadowRootType"] == "closed"]


def _shadow_roots(document: Params) -> list[Params]:
    found, waiting = [], [document]
    while waiting:
        node = waiting.pop()
        roots = node.get("shadowRoots", [])
        found += roots
        waiting += [*node.get("children", []), *roots]
        if "contentDocument" in node:
            waiting.append(node["contentDocument"])
    return found
