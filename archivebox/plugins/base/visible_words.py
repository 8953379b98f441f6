"""The words that a page shows, as its browser has laid them out: no script of ours runs in it."""

from __future__ import annotations

import re
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

CAPTURE = "DOMSnapshot.captureSnapshot"
OPTIONS = {"computedStyles": ["opacity", "visibility"]}
WORD = re.compile(r"\w+")


def visible_words(snapshot: Params) -> Counter[str]:
    """Return the words in an answer to `CAPTURE` that can be seen, of all frames, each as often as it is shown."""
    strings: list[str] = snapshot["strings"]
    words: Counter[str] = Counter()
    for document in snapshot["documents"]:
        for text in _visible_texts(document, strings):
            words.update(WORD.findall(text.casefold()))
    return words


def words_found(wanted: Counter[str], there: Counter[str]) -> tuple[int, int]:
    """Return how many of the words that are wanted are there as well, each as often, and how many are wanted."""
    return (wanted & there).total(), wanted.total()


def _visible_texts(document: Params, strings: list[str]) -> list[str]:
    """What is laid out, not `visibility: hidden`, and in nothing that is wholly transparent."""
    layout, parents = document["layout"], document["nodes"]["parentIndex"]
    styles = {
        node: (strings[style[0]], strings[style[1]])
        for node, style in zip(layout["nodeIndex"], layout["styles"], strict=True)
        if len(style) == 2
    }
    transparent = {node for node, (opacity, _) in styles.items() if opacity == "0"}
    known: dict[int, bool] = {}
    texts: list[str] = []
    for node, text in zip(layout["nodeIndex"], layout["text"], strict=True):
        if text < 0 or styles.get(node, ("", ""))[1] in {"hidden", "collapse"}:
            continue
        if not _is_within(node, transparent, parents, known):
            texts.append(strings[text])
    return texts


def _is_within(node: int, those: set[int], parents: list[int], known: dict[int, bool]) -> bool:
    """Whether a node, or one above it, is one of those; what is found out is remembered."""
    path: list[int] = []
    while node >= 0 and node not in known and node not in those:
        path.append(node)
        node = parents[node]
    is_within = node in those or (node >= 0 and known.get(node, False))
    known.update(dict.fromkeys(path, is_within))
    return is_within
