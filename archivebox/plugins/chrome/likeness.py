"""How much of one picture looks as another does."""

from __future__ import annotations

import io

from PIL import Image, ImageChops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from PIL.Image import Image as Picture

TOLERANCE = 16  # of 255, by which a colour may differ unseen: the edges of letters are not drawn the same twice
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


def share_alike(one: Picture, other: Picture) -> float:
    """Return the share of pixels, from 0 to 1, that have the same colour in two pictures of one size."""
    first, *others = ImageChops.difference(one, other).split()
    for band in others:
        first = ImageChops.lighter(first, band)
    return sum(first.histogram()[: TOLERANCE + 1]) / (one.width * one.height)
