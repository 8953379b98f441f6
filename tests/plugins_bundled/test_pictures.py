"""Copies that people look at hold photographs as the eye needs them, and all else as it came."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image, ImageChops, ImageDraw
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, NumberObject, StreamObject

from archivebox.plugins.base.pictures import smaller
from archivebox.plugins.pdf.shrink import shrunk
from archivebox.plugins.screenshot import drawn

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


def view_of_text() -> Image.Image:
    """A screen full of words, packed as badly as the browser packs for speed."""
    view = Image.new("RGB", (1440, 1200), "white")
    for number, line in enumerate(range(0, view.height, 12)):
        ImageDraw.Draw(view).text((number % 7, line), f"On Keeping Pages {number} " * 12, "#222")
    return view


def test_a_picture_of_words_is_much_smaller_and_the_same_pixel_by_pixel() -> None:
    view = view_of_text()
    png = packed(view, "PNG", compress_level=1)
    copy = drawn.packed(png, view)
    assert copy is not None
    assert len(copy) < len(png) / 2
    with Image.open(io.BytesIO(copy)) as picture:
        assert picture.format == "WEBP"
        assert ImageChops.difference(picture.convert("RGB"), view).getbbox() is None


def test_a_picture_of_photographs_is_as_small_as_the_eye_needs_it_and_a_small_one_stays() -> None:
    noise = Image.frombytes("RGB", (600, 500), random.Random("view").randbytes(600 * 500 * 3))
    png = packed(noise, "PNG")
    assert len(drawn.packed(png, noise) or png) < len(png) / 2
    assert drawn.packed(packed(DRAWING, "PNG"), DRAWING) is None


@pytest.mark.parametrize(("size", "small"), [((1440, 2000), (360, 225)), ((1440, 600), (360, 150))])
def test_a_list_shows_the_top_of_a_picture_and_no_more_than_there_is(
    size: tuple[int, int], small: tuple[int, int]
) -> None:
    with Image.open(io.BytesIO(drawn.thumbnail(Image.new("RGB", size, "#2a9d8f")))) as picture:
        assert picture.size == small
        assert picture.convert("RGB").getpixel((5, small[1] - 1)) != (0, 0, 0), "nothing is drawn below the picture"
