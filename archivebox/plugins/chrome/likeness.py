"""How much of one picture looks as another does, tile by tile."""

from __future__ import annotations

import io

from PIL import Image, ImageChops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from PIL.Image import Image as Picture

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
