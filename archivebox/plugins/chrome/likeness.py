"""How much of one page looks as another does: its picture tile by tile, and the words that it shows."""

from __future__ import annotations

import io
import re
from collections import Counter

from PIL import Image, ImageChops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from archivebox.plugins.base.cdp import Params

TILE = 16  # pixels of a side
TOLERANCE = 16  # of 255, by which a colour may differ unseen: the edges of letters are not drawn the same twice
MOST_DIFFERENT = 255 // 16  # mean of a tile's mask: one pixel of sixteen may be of another colour
MOST_PIXELS = 50_000_000
QUALITY = 85  # with which the plugin `screenshot` packs photographs


class UnreadableError(Exception):
    """A file that is no picture, or too large a one; the message is a sentence."""


def read_picture(source: str | bytes) -> Picture:
    """Return the picture in a file, or of these bytes, without what is transparent."""
    try:
        with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as picture:
            if picture.width * picture.height > MOST_PIXELS:
                raise UnreadableError("Its picture is too large to be compared.")
            return picture.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # what Pillow says of broken ones
        raise UnreadableError(f"Its picture cannot be read: {error}") from None


def packed_alike(kept: str, shown: Picture) -> Picture:
    """Return a picture with the losses of the one in a file: WebP that is not exact (RFC 9649, 2.5)."""
    with open(kept, "rb") as file:
        if file.read(16)[12:] != b"VP8 ":
            return shown
    packed = io.BytesIO()
    shown.save(packed, "WEBP", quality=QUALITY, method=2)  # as the kept one was made
    return read_picture(packed.getvalue())


def tiles_alike(kept: Picture, shown: Picture) -> tuple[int, int]:
    """Return how many tiles look the same in two pictures of one size, and of how many.

    Tiles that are plain in both and of one colour are background, and not counted: most of a page is background.
    """
    differences = _tiles(_beyond_tolerance(kept, shown))
    details = zip(_tiles(_outlines(kept)), _tiles(_outlines(shown)), strict=True)
    same = counted = 0
    for difference, detail in zip(differences, details, strict=True):
        is_same = difference <= MOST_DIFFERENT
        if any(detail) or not is_same:
            counted += 1
            same += is_same
    return same, counted


def _tiles(mask: Picture) -> bytes:
    """The mean of each tile of a mask, row by row; not 0 where one pixel is set."""
    return mask.reduce(TILE).tobytes()


def _outlines(picture: Picture) -> Picture:
    """A mask of the pixels that are of another colour than the one before them, in their row or column."""
    mask = Image.new("L", picture.size)
    width, height = picture.size
    for x, y in ((1, 0), (0, 1)):
        box = (x, y, width, height)
        outline = _beyond_tolerance(picture.crop(box), picture.crop((0, 0, width - x, height - y)))
        mask.paste(ImageChops.lighter(mask.crop(box), outline), box)
    return mask


def _beyond_tolerance(one: Picture, other: Picture) -> Picture:
    """A mask, 255 where two pictures of one size differ visibly, else 0."""
    first, *others = ImageChops.difference(one, other).split()
    for band in others:
        first = ImageChops.lighter(first, band)
    return first.point([0] * (TOLERANCE + 1) + [255] * (255 - TOLERANCE))


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
