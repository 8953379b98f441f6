"""Makes pictures smaller for copies that people look at; the recording has them as they came."""

from __future__ import annotations

import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from PIL.Image import Image

SMALL = 32_000  # bytes below which there is little to win
WORTH = 0.7  # of its bytes: for a smaller gain it stays as it is
MOST_PIXELS = 50_000_000


def smaller(data: bytes, quality: int, side: int = 0) -> bytes | None:
    """Return a picture as WebP, if wished no larger than `side` pixels either way.

    None where it stays as it is: small, moving, hardly smaller as WebP, or nothing that can be read.
    """
    if len(data) < SMALL:
        return None
    from PIL import Image  # 60 ms, which most pages do without

    try:
        with Image.open(io.BytesIO(data)) as picture:
            if getattr(picture, "is_animated", False) or picture.width * picture.height > MOST_PIXELS:
                return None
            written = _webp(picture, quality, side)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # what Pillow says of broken files
        return None
    return written if len(written) < WORTH * len(data) else None


def _webp(picture: Image, quality: int, side: int) -> bytes:
    from PIL import ImageOps  # as above

    upright = ImageOps.exif_transpose(picture)
    if side:
        upright.thumbnail((side, side))
    if upright.mode not in {"RGB", "RGBA"}:
        upright = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    file = io.BytesIO()
    upright.save(file, "WEBP", quality=quality, method=2, icc_profile=picture.info.get("icc_profile"))
    return file.getvalue()
