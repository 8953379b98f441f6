"""Makes a print smaller: the browser writes its JPEG as they came, and all other pictures pixel by pixel.

pypdf takes 0.1 s to import, which most prints do without.
"""

from __future__ import annotations

import io
import math
from collections import defaultdict
from itertools import takewhile

from archivebox.plugins.base import log
from archivebox.plugins.base.pictures import MOST_PIXELS, Smaller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image
    from pypdf import PageObject
    from pypdf.generic import DictionaryObject, PdfObject, StreamObject

    Matrix = tuple[float, float, float, float]

SMALL = 32_000  # bytes of a picture below which there is little to win
PHOTOGRAPH = 0.5  # bytes a pixel that packing leaves of a photograph at least; of drawings it leaves less
QUALITY = 75
WORTH = 0.85  # of its bytes: for a smaller gain it stays as it is
DENSITY = 150  # pixels an inch on paper, of which the eye sees no more from where one reads
ENOUGH = 1.2  # times as many as that are not worth a look through it again
IDENTITY = (1.0, 0.0, 0.0, 1.0)
DEEPEST = 8  # forms within forms
COLOURS = {"/DeviceRGB": "RGB", "/DeviceGray": "L", 3: "RGB", 1: "L"}  # by name, or how many a profile has


def shrunk(data: bytes) -> bytes:
    """Return the print with photographs as paper shows them; as it is where that is not smaller, or cannot be done."""
    from pypdf.errors import PyPdfError  # as said above

    try:
        return min(data, _written_anew(data), key=len)
    except (PyPdfError, OSError, ValueError, LookupError, TypeError) as error:
        log(f"the print stays as large as it is: {error}")
        return data


def _written_anew(data: bytes) -> bytes:
    from pypdf import PdfWriter  # as said above

    writer = PdfWriter(clone_from=io.BytesIO(data))
    smaller = Smaller()
    images: dict[int, StreamObject] = {}
    inches: defaultdict[int, list[float]] = defaultdict(lambda: [0.0])
    for page in takewhile(lambda _: smaller.has_time(), writer.pages):
        for number, image, matrix in _drawn(page, _content(page), IDENTITY):
            images[number] = image
            inches[number].append(math.hypot(matrix[0], matrix[1]) / 72)
    for number, image in images.items():
        if smaller.has_time():
            _shrink(image, max(inches[number]))
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def _content(page: PageObject) -> bytes:
    content = page.get_contents()
    return content.get_data() if content is not None else b""


def _drawn(
    holder: DictionaryObject, content: bytes, matrix: Matrix, depth: int = 0
) -> Iterator[tuple[int, StreamObject, Matrix]]:
    """Each picture on a sheet, by its number, with what becomes there of a square of one point (PDF 32000-1, 8.3.4).

    The browser writes one operator a line, and no text that looks like one.
    """
    resources = holder["/Resources"].get_object()
    things = resources.get("/XObject") if isinstance(resources, dict) else None
    if not things:
        return
    kept: list[Matrix] = []
    for line in content.split(b"\n"):
        if line == b"q":
            kept.append(matrix)
        elif line == b"Q":
            matrix = kept.pop()
        elif line.endswith(b" cm"):
            matrix = _times(line.split(), matrix)
        elif line.endswith(b" Do"):
            thing = things.raw_get(line[:-3].decode())
            drawn = thing.get_object()
            if drawn["/Subtype"] == "/Image":
                yield thing.idnum, drawn, matrix
            elif depth < DEEPEST and "/Resources" in drawn:
                yield from _drawn(drawn, drawn.get_data(), _times(drawn.get("/Matrix", IDENTITY), matrix), depth + 1)


def _times(inner: list[bytes], outer: Matrix) -> Matrix:
    """Both after each other; where to is left out."""
    a, b, c, d = (float(number) for number in inner[:4])
    return (
        a * outer[0] + b * outer[2],
        a * outer[1] + b * outer[3],
        c * outer[0] + d * outer[2],
        c * outer[1] + d * outer[3],
    )


def _shrink(image: StreamObject, inches: float) -> None:
    """Pack a photograph as JPEG, with no more pixels than its width on paper shows."""
    from pypdf.generic import NameObject, NumberObject  # as said above

    packed: bytes = image._data  # noqa: SLF001 - as packed
    picture = _photograph(image, packed)
    if picture is None:
        return
    width = max(1, round(DENSITY * inches))
    if picture.width > ENOUGH * width:
        picture.thumbnail((width, picture.height))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=QUALITY, optimize=True, progressive=True)
    if len(file.getvalue()) > WORTH * len(packed):
        return
    image._data = file.getvalue()  # noqa: SLF001 - as packed
    image[NameObject("/Filter")] = NameObject("/DCTDecode")
    image.pop("/DecodeParms", None)
    for name, number in (("/Width", picture.width), ("/Height", picture.height)):
        image[NameObject(name)] = NumberObject(number)


def _photograph(image: StreamObject, packed: bytes) -> Image | None:
    """It as a picture; None of what is none, is small, or shines through, whose mask would no longer fit."""
    import PIL.Image  # as said above

    mode, size = _colours(image.get("/ColorSpace")), (_number(image, "/Width"), _number(image, "/Height"))
    pixels = size[0] * size[1]
    is_plain = _number(image, "/BitsPerComponent") == 8 and not image.keys() & {"/SMask", "/Mask", "/Decode"}
    if mode is None or not is_plain or len(packed) < SMALL or pixels > MOST_PIXELS:
        return None
    if image.get("/Filter") == "/DCTDecode":
        picture = PIL.Image.open(io.BytesIO(packed))
        return picture if picture.mode == mode else None
    if image.get("/Filter") == "/FlateDecode" and len(packed) > PHOTOGRAPH * pixels:
        return PIL.Image.frombytes(mode, size, image.get_data())
    return None


def _colours(space: PdfObject | None) -> str | None:
    if isinstance(space, list):
        return COLOURS.get(space[1].get_object()["/N"]) if space[0] == "/ICCBased" else None
    return COLOURS.get(str(space))


def _number(image: StreamObject, name: str) -> int:
    return int(str(image[name]))
