#!/usr/bin/env python3
"""Keep what a screen reader says of the page in `accessibility.jsonl`: a line a node, in its order, with its depth.

The protocol gives 0.5 to 1 KB for each node; kept are role, name, value, description and what is set of its properties,
of those nodes that a reader is told of.
"""

from __future__ import annotations

import json

from archivebox.plugins.base import Settings, noresults, skipped, succeeded, write_atomically
from archivebox.plugins.base.tab import open_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from archivebox.plugins.base.cdp import Params

FILE = "accessibility.jsonl"
ELEMENTS_MAX = 20_000  # seconds of the browser's
LETTERS_MAX = 3_000_000  # half a second of the browser's; 17 million take nine
EXTENT = "[document.getElementsByTagName('*').length, document.documentElement.textContent.length]"
TEXTS = ("name", "value", "description")
BOXES = frozenset({"generic", "none"})  # they mean nothing unless they are named


def outline(nodes: list[Params]) -> Iterator[dict[str, object]]:
    """Yield what is said of the nodes (Accessibility.AXNode) in reading order; their text is said once."""
    of_id = {node["nodeId"]: node for node in nodes}
    waiting = [(node, 0, "") for node in nodes if node.get("parentId") not in of_id]
    while waiting:
        node, depth, above = waiting.pop()
        said = described(node)
        if said and said != {"role": "StaticText", "name": above}:
            yield {"depth": depth, **said}
            depth, above = depth + 1, str(said.get("name", ""))
        children = [of_id[child] for child in node.get("childIds", ()) if child in of_id]
        waiting += [(child, depth, above) for child in reversed(children)]


def described(node: Params) -> dict[str, object]:
    """Return role, texts and states of a node, nothing where a reader is told nothing."""
    role = node.get("role", {}).get("value", "")
    texts = {name: node[name]["value"] for name in TEXTS if node.get(name, {}).get("value")}
    if node.get("ignored") or role == "InlineTextBox" or (role in BOXES and not texts):
        return {}
    states = {state["name"]: state["value"]["value"] for state in node.get("properties", ()) if is_plain(state)}
    return {"role": role, **texts, **states}


def is_plain(state: Params) -> bool:
    """Whether a property is set, and plain: not a reference to other nodes."""
    return bool(state["value"].get("value")) and state["value"]["type"] not in ("idref", "idrefList", "nodeList")


def main() -> None:
    with open_page(Settings().timeout("ACCESSIBILITY"), read_only=True) as tab:
        elements, letters = tab.evaluate(EXTENT)
        if elements > ELEMENTS_MAX:
            skipped(f"the page has {elements:,} elements, and is read up to {ELEMENTS_MAX:,}")
        if letters > LETTERS_MAX:
            skipped(f"the page has {letters:,} letters, and is read up to {LETTERS_MAX:,}")
        nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    lines = [json.dumps(said, ensure_ascii=False) + "\n" for said in outline(nodes)]
    if not lines:
        noresults("the page has no accessibility tree")
    write_atomically(FILE, "".join(lines))
    succeeded(FILE)


if __name__ == "__main__":
    main()
