"""Copies that people look at hold photographs as the eye needs them, and all else as it came."""

from __future__ import annotations

import base64
import fcntl
import io
import os
import random
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageStat
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, NumberObject, StreamObject

from archivebox.plugins.base.pictures import Smaller
from archivebox.plugins.pdf.shrink import shrunk
from archivebox.plugins.screenshot import drawn
from benchmarks.heavy import photograph

SIZE = (200, 150)
NOISE = random.Random("noise").randbytes(SIZE[0] * SIZE[1] * 3)
PHOTOGRAPH = Image.frombytes("RGB", SIZE, NOISE)
DRAWING = Image.new("RGB", SIZE, "#2a9d8f")
VIEW = Image.open(io.BytesIO(photograph("view")))
"""As large as the web has them, and as hard to pack."""


def packed(picture: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def copy_of(data: bytes, side: int = 0) -> tuple[Image.Image, int, str]:
    """The smaller picture, its bytes and its type."""
    made = Smaller().picture(data, side)
    assert made is not None
    return Image.open(io.BytesIO(made[0])), len(made[0]), made[1]


def difference(one: Image.Image, other: Image.Image) -> float:
    """Root of the mean square of how far two pictures of 8 bits are apart."""
    means = ImageStat.Stat(ImageChops.difference(one.convert("RGB"), other.convert("RGB"))).rms
    return float(max(means))


@pytest.mark.parametrize(("kind", "options"), [("PNG", {}), ("JPEG", {"quality": 85})])
def test_a_photograph_takes_less_and_looks_as_it_did(kind: str, options: dict[str, int]) -> None:
    data = packed(VIEW, kind, **options)
    copy, size, media_type = copy_of(data)
    assert size < len(data) * 0.75
    assert (copy.format, media_type, copy.size) == ("AVIF", "image/avif", VIEW.size)
    assert difference(copy, VIEW) < 5


def test_a_picture_is_no_larger_than_it_is_shown_and_stands_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # Orientation: its first row is on the right
    copy, _, _ = copy_of(packed(VIEW, "JPEG", quality=95, exif=exif), side=400)
    assert copy.size == (300, 400)
    assert copy.getexif().get(0x0112, 1) == 1
    assert difference(copy, VIEW.rotate(-90, expand=True).resize((300, 400))) < 10


def test_what_shines_through_still_does() -> None:
    copy, _, _ = copy_of(packed(Image.frombytes("RGBA", (150, 150), NOISE), "PNG"))
    assert copy.mode == "RGBA"


def test_a_picture_that_takes_avif_too_much_memory_is_webp() -> None:
    large = VIEW.resize((3000, 2250))
    copy, _, media_type = copy_of(packed(large, "JPEG", quality=95))
    assert (copy.format, media_type, copy.size) == ("WEBP", "image/webp", large.size)


@pytest.mark.parametrize(
    "data",
    [
        packed(DRAWING, "PNG"),
        packed(VIEW, "AVIF", quality=60),
        packed(PHOTOGRAPH, "GIF", save_all=True, append_images=[DRAWING]),
        packed(PHOTOGRAPH.resize((600, 450)).convert("CMYK"), "JPEG", quality=95),
        b"\x89PNG\r\n\x1a\n" + NOISE,
        NOISE,
        packed(PHOTOGRAPH, "PNG")[:50_000],
    ],
    ids=["small", "small enough", "moving", "of inks", "broken", "no picture", "torn"],
)
def test_all_else_stays_as_it_is(data: bytes) -> None:
    assert Smaller().picture(data) is None


def test_pictures_stay_as_they_are_once_the_time_for_them_is_over() -> None:
    data = packed(VIEW, "JPEG", quality=90)
    assert Smaller().picture(data) is not None
    assert Smaller(seconds=0).picture(data) is None


def test_the_pictures_in_a_page_are_smaller_and_all_else_is_the_same() -> None:
    def address(data: bytes, kind: str) -> str:
        return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"

    photograph, small = packed(VIEW, "JPEG", quality=90), packed(DRAWING, "PNG")
    page = "<p>data:image/png;base64,QUJD é</p><img src='{}'><style>a{{background:url({})}}</style><img src={}>"
    odd = "data:image/png;base64," + "A" * 50_001
    shown = Smaller().text(page.format(address(photograph, "jpeg"), address(small, "png"), odd))
    made = Smaller().picture(photograph)
    assert made is not None
    assert shown == page.format(address(made[0], "avif"), address(small, "png"), odd)


def printed(picture: Image.Image, content: bytes = b"/X1 Do", jpeg: bytes = b"") -> bytes:
    """A page with one picture, as the browser prints it: pixel by pixel, or the JPEG that came."""
    stream = StreamObject()
    stream.set_data(jpeg or picture.tobytes())
    about = {"/Type": "/XObject", "/Subtype": "/Image", "/ColorSpace": "/DeviceRGB"}
    about |= {"/Filter": "/DCTDecode"} if jpeg else {}
    stream.update({NameObject(name): NameObject(value) for name, value in about.items()})
    numbers = {"/Width": picture.width, "/Height": picture.height, "/BitsPerComponent": 8}
    stream.update({NameObject(name): NumberObject(value) for name, value in numbers.items()})
    writer = PdfWriter()
    page = writer.add_blank_page(*picture.size)
    place = writer._add_object(stream if jpeg else stream.flate_encode())
    pictures = DictionaryObject({NameObject("/X1"): place})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): pictures})
    drawing = StreamObject()
    drawing.set_data(content)
    page[NameObject("/Contents")] = writer._add_object(drawing)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def picture_in(data: bytes) -> Image.Image:
    (picture,) = PdfReader(io.BytesIO(data)).pages[0].images
    assert picture.image is not None
    return picture.image


def test_a_print_has_its_photographs_as_jpeg_and_its_drawings_as_they_are() -> None:
    data = printed(PHOTOGRAPH, b"q\n150 0 0 150 0 0 cm\n/X1 Do\nQ")
    copy = shrunk(data)
    assert len(copy) < len(data) / 2
    picture = picture_in(copy)
    assert (picture.format, picture.size) == ("JPEG", SIZE)
    assert picture_in(shrunk(printed(DRAWING))).convert("RGB").getpixel((5, 5)) == DRAWING.getpixel((5, 5))


def test_a_photograph_has_the_pixels_that_its_place_on_paper_shows() -> None:
    jpeg = packed(VIEW, "JPEG", quality=80)
    three_inches = b"q\n864 0 0 648 0 0 cm\n/X1 Do\nQ\n"  # at the fourth that the browser draws at
    two_inches = b"q\n.5 0 0 .5 7 7 cm\nq\n1152 0 0 864 9 9 cm\n/X1 Do\nQ\nQ"
    copy = shrunk(printed(VIEW, b".25 0 0 -.25 0 792 cm\n" + three_inches + two_inches, jpeg))
    picture = picture_in(copy)
    assert (picture.format, picture.size) == ("JPEG", (450, 338))
    assert difference(picture, VIEW.resize(picture.size)) < 8
    assert len(copy) < len(jpeg) * 0.6


def test_a_photograph_that_is_hardly_smaller_stays_the_jpeg_that_came() -> None:
    jpeg = packed(VIEW, "JPEG", quality=75)
    data = printed(VIEW, b"q\n600 0 0 450 0 0 cm\n/X1 Do\nQ", jpeg)
    assert jpeg in shrunk(data)


@pytest.mark.parametrize("content", [b"Q", b"a b c d e f cm", b"/X2 Do"], ids=["torn", "no numbers", "no such thing"])
def test_a_print_that_is_drawn_strangely_stays_as_it_is(content: bytes) -> None:
    data = printed(PHOTOGRAPH, content)
    assert shrunk(data) == data


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


def test_large_photographic_screenshots_are_compressed_and_small_ones_are_not() -> None:
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


def test_the_pages_of_a_crawl_pack_their_pictures_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRAWL_OUTPUT_DIR", str(tmp_path))
    another = os.open(tmp_path, os.O_RDONLY)
    with drawn.one_at_a_time(), pytest.raises(BlockingIOError):
        fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(another)


@pytest.mark.parametrize(
    ("ground", "mark", "hue"),
    [
        ("#fff", None, None),
        ("#777", None, None),
        ("#0b5cad", None, 255),
        ("#fff", "#d22", 30),
        ("#f6f4ee", "#0a0", 135),
    ],
)
def test_the_hue_of_a_page_is_that_of_most_of_its_colour(ground: str, mark: str | None, hue: int | None) -> None:
    view = Image.new("RGB", (1440, 2000), ground)
    if mark:
        ImageDraw.Draw(view).rectangle((0, 0, 300, 200), fill=mark)
    assert drawn.main_hue(view) == hue
