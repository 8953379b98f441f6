"""Copies that people look at hold photographs as the eye needs them, and all else as it came."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, NumberObject, StreamObject

from archivebox.plugins.base.pictures import smaller
from archivebox.plugins.pdf.shrink import shrunk

SIZE = (200, 150)
NOISE = random.Random("noise").randbytes(SIZE[0] * SIZE[1] * 3)
PHOTOGRAPH = Image.frombytes("RGB", SIZE, NOISE)
DRAWING = Image.new("RGB", SIZE, "#2a9d8f")


def packed(picture: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def test_a_photograph_that_came_without_loss_is_smaller_as_webp() -> None:
    data = packed(PHOTOGRAPH, "PNG")
    copy = smaller(data, 90)
    assert copy is not None
    assert len(copy) < len(data) / 2
    with Image.open(io.BytesIO(copy)) as picture:
        assert (picture.format, picture.size) == ("WEBP", SIZE)
    with Image.open(io.BytesIO(smaller(data, 90, side=100) or b"")) as picture:
        assert picture.size == (100, 75)


def test_what_shines_through_still_does() -> None:
    copy = smaller(packed(Image.frombytes("RGBA", (150, 150), NOISE), "PNG"), 60)
    assert copy is not None
    with Image.open(io.BytesIO(copy)) as picture:
        assert picture.mode == "RGBA"


@pytest.mark.parametrize(
    "data",
    [
        packed(DRAWING, "PNG"),
        packed(PHOTOGRAPH.resize((300, 225), Image.Resampling.NEAREST), "WEBP", quality=80),
        packed(PHOTOGRAPH, "GIF", save_all=True, append_images=[DRAWING]),
        b"\x89PNG\r\n\x1a\n" + NOISE,
        NOISE,
        packed(PHOTOGRAPH, "PNG")[:50_000],
    ],
    ids=["small", "small enough", "moving", "broken", "no picture", "torn"],
)
def test_all_else_stays_as_it_is(data: bytes) -> None:
    assert smaller(data, 90) is None


def printed(picture: Image.Image) -> bytes:
    """A page with one picture, pixel by pixel, as the browser prints it."""
    stream = StreamObject()
    stream.set_data(picture.tobytes())
    about = {"/Type": "/XObject", "/Subtype": "/Image", "/ColorSpace": "/DeviceRGB"}
    stream.update({NameObject(name): NameObject(value) for name, value in about.items()})
    numbers = {"/Width": picture.width, "/Height": picture.height, "/BitsPerComponent": 8}
    stream.update({NameObject(name): NumberObject(value) for name, value in numbers.items()})
    writer = PdfWriter()
    page = writer.add_blank_page(*picture.size)
    place = writer._add_object(stream.flate_encode())
    pictures = DictionaryObject({NameObject("/X1"): place})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): pictures})
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_a_print_has_its_photographs_as_jpeg_and_its_drawings_as_they_are() -> None:
    data = printed(PHOTOGRAPH)
    copy = shrunk(data)
    assert len(copy) < len(data) / 2
    (picture,) = PdfReader(io.BytesIO(copy)).pages[0].images
    assert picture.image is not None
    assert (picture.image.format, picture.image.size) == ("JPEG", SIZE)
    drawing = printed(DRAWING)
    (picture,) = PdfReader(io.BytesIO(shrunk(drawing))).pages[0].images
    assert picture.image is not None
    assert picture.image.convert("RGB").getpixel((5, 5)) == DRAWING.getpixel((5, 5))


def test_a_print_that_cannot_be_read_stays_as_it_is() -> None:
    assert shrunk(b"%PDF-1.7 torn") == b"%PDF-1.7 torn"
