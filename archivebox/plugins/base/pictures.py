"""Makes pictures smaller for copies that people look at; the recording has them as they came.

Pillow takes 60 ms to import, which most pages do without.
"""

from __future__ import annotations

import base64
import io
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from PIL.Image import Image

SMALL = 32_000  # bytes below which there is little to win
WORTH = 0.75  # of its bytes: for a smaller gain it stays as it is
MOST_PIXELS = 50_000_000
AVIF_PIXELS = 6_000_000  # AVIF takes 22 bytes of memory for a pixel, WebP 7
MODES = {"1", "L", "LA", "P", "RGB", "RGBA"}  # of other ones Pillow would change the colours
QUALITY = 60  # of what was packed with loss already; not told from the original, side by side at twice the size
LOSSLESS_QUALITY = 75  # of what came pixel by pixel
WEBP_QUALITY = {QUALITY: 80, LOSSLESS_QUALITY: 90}  # as near to the original
SPEED = 10  # of packing as AVIF, which takes a fourth of the time at 8, and 3 % more room
IN_TEXT = re.compile(rf"data:image/(?:png|jpe?g);base64,([A-Za-z0-9+/]{{{SMALL},}}={{0,2}})")


class Smaller:
    """Makes the pictures of one page smaller, until the CPU seconds are over that may go into them."""

    def __init__(self, seconds: float = 5.0) -> None:
        self._end = time.process_time() + seconds

    def has_time(self) -> bool:
        return time.process_time() < self._end

    def picture(self, data: bytes, side: int = 0) -> tuple[bytes, str] | None:
        """Return a picture packed anew and its type, if wished no larger than `side` pixels either way.

        None where it stays as it is: small, moving, hardly smaller, nothing that can be read, or there is no time left.
        """
        if len(data) < SMALL or not self.has_time():
            return None
        import PIL.Image  # as said above

        try:
            with PIL.Image.open(io.BytesIO(data)) as picture:
                if (
                    picture.mode not in MODES
                    or getattr(picture, "is_animated", False)
                    or picture.width * picture.height > MOST_PIXELS
                ):
                    return None
                written, kind = _packed(picture, side)
        except (OSError, ValueError, SyntaxError, PIL.Image.DecompressionBombError):  # what Pillow says of broken files
            return None
        return (written, kind) if len(written) < WORTH * len(data) else None

    def text(self, text: str) -> str:
        """Return HTML whose pictures are in it, with smaller ones."""
        return IN_TEXT.sub(self._address, text)

    def _address(self, found: re.Match[str]) -> str:
        try:
            made = self.picture(base64.b64decode(found[1]))
        except ValueError:  # a page may write anything
            return found[0]
        return found[0] if made is None else f"data:{made[1]};base64,{base64.b64encode(made[0]).decode()}"


def _packed(picture: Image, side: int) -> tuple[bytes, str]:
    from PIL import ImageOps, features  # as said above

    quality = LOSSLESS_QUALITY if picture.format == "PNG" else QUALITY
    colours = picture.info.get("icc_profile") if picture.mode in {"RGB", "RGBA"} else None  # others' are of greys
    if side:
        picture.thumbnail((side, side))  # before all else: of a JPEG no more is read than it takes
    upright = ImageOps.exif_transpose(picture)
    if upright.mode not in {"RGB", "RGBA"}:
        upright = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    file = io.BytesIO()
    if upright.width * upright.height <= AVIF_PIXELS and features.check("avif"):
        upright.save(file, "AVIF", quality=quality, speed=SPEED, max_threads=1, icc_profile=colours, exif=b"")
        return file.getvalue(), "image/avif"
    upright.save(file, "WEBP", quality=WEBP_QUALITY[quality], method=2, icc_profile=colours)
    return file.getvalue(), "image/webp"
