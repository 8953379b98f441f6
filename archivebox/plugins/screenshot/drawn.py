"""What is kept of the picture that the browser took: a small one of its top, and all of it in little room."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os

import PIL.Image
import PIL.WebPImagePlugin  # else Pillow looks for WebP in all that it knows, which takes longer than the picture
from PIL.PngImagePlugin import PngImageFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image

SMALL = 100_000  # bytes of a PNG below which there is little to win
LARGE = 800_000  # bytes above which it holds photographs, which no packing without loss makes much smaller
LONGEST = 16_383  # px; the longest side that WebP knows
WIDTH, SHAPE = 360, 5 / 8  # px of the small one; height to width, as lists show it
QUALITY, SMALL_QUALITY = 85, 60  # of photographs, and of the small one
EFFORT = 0  # of packing without loss, to 100; from 30 on it takes twice the time for a quarter less


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other page of the crawl is at it: a picture takes 55 MB for the 0.1 s in which it is packed."""
    folder = os.environ.get("CRAWL_OUTPUT_DIR") or "."
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some file systems of other machines have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def opened(png: bytes) -> Image:
    """Return the picture that the browser took."""
    return PngImageFile(io.BytesIO(png))


def thumbnail(view: Image) -> bytes:
    """Return the top of a picture as lists show it."""
    height = min(view.height, round(view.width * SHAPE))
    size = WIDTH, round(WIDTH * height / view.width)
    box = (0, 0, view.width, height)
    return _webp(view.resize(size, PIL.Image.Resampling.LANCZOS, box, reducing_gap=2.0), quality=SMALL_QUALITY)


def packed(png: bytes, view: Image) -> bytes | None:
    """Return a picture as WebP, pixel by pixel the same unless it is large; None where the PNG is small enough."""
    if len(png) < SMALL or max(view.size) > LONGEST:
        return None
    return _webp(view, quality=QUALITY) if len(png) > LARGE else _webp(view, quality=EFFORT, lossless=True, exact=True)


def _webp(picture: Image, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, "WEBP", method=2, **options)  # 4, the default, takes twice the time for 2 %
    return file.getvalue()
