"""What is kept of the picture that the browser took: a small one of its top, its main hue, and all of it in little
room.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import math
import os
from collections import defaultdict

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
SAMPLES = 48, 30  # of a picture's top, by which its hue is judged
HUE_STEP = 15  # degrees between hues that are told apart
FAINTEST, LEAST_COLOUR = (
    0.03,
    0.002,
)  # chroma of a sample that has a hue; of all samples on average, for a page to have one
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


def main_hue(view: Image) -> int | None:
    """Return the hue, in degrees of OKLCH, that has most of the colour of a picture's top; None where it is grey.

    Each sample counts as much as it is colourful, so that a small bright mark outweighs a large pale ground.
    """
    height = min(view.height, round(view.width * SHAPE))
    samples = view.convert("RGB").resize(SAMPLES, PIL.Image.Resampling.BOX, (0, 0, view.width, height))
    weights: dict[int, float] = defaultdict(float)
    rows = samples.tobytes()
    for red, green, blue in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        chroma, hue = _chroma_and_hue(red, green, blue)
        if chroma > FAINTEST:
            weights[round(hue / HUE_STEP) % (360 // HUE_STEP)] += chroma
    step, weight = max(weights.items(), key=lambda one: one[1], default=(0, 0.0))
    return step * HUE_STEP if weight > LEAST_COLOUR * SAMPLES[0] * SAMPLES[1] else None


def _chroma_and_hue(*colour: int) -> tuple[float, float]:
    """Convert sRGB to OKLCH, without its lightness (https://bottosson.github.io/posts/oklab/)."""
    red, green, blue = (each / 255 / 12.92 if each <= 10 else ((each / 255 + 0.055) / 1.055) ** 2.4 for each in colour)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    medium = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    a = 1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short
    b = 0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short
    return math.hypot(a, b), math.degrees(math.atan2(b, a)) % 360


def packed(png: bytes, view: Image) -> bytes | None:
    """Return a picture as WebP, pixel by pixel the same unless it is large; None where the PNG is small enough."""
    if len(png) < SMALL or max(view.size) > LONGEST:
        return None
    if len(png) > LARGE:
        return _webp(view, quality=QUALITY)
    return _webp(view, quality=EFFORT, method=1, lossless=True, exact=True)  # 2 takes half as long again for 1 %


def _webp(picture: Image, *, method: int = 2, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, "WEBP", method=method, **options)  # 4, the default, takes twice the time for 2 %
    return file.getvalue()
