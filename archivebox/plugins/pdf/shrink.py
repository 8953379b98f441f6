"""Makes a print smaller: the browser writes every picture that was no JPEG pixel by pixel.

pypdf takes 0.2 s to import, which most prints do without.
"""

from __future__ import annotations

import io

from archivebox.plugins.base import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pypdf.generic import StreamObject

SMALL = 32_000  # bytes of a picture below which there is little to win
PHOTOGRAPH = 0.5  # bytes a pixel that packing leaves of a photograph at least; of drawings it leaves less
QUALITY = 80


def shrunk(data: bytes) -> bytes:
    """Return the print with its photographs as JPEG; as it is where that is not smaller, or cannot be done."""
    from pypdf.errors import PyPdfError  # as said above

    try:
        return min(data, _written_anew(data), key=len)
    except (PyPdfError, OSError, ValueError) as error:
        log(f"the print stays as large as it is: {error}")
        return data


def _written_anew(data: bytes) -> bytes:
    from pypdf import PdfWriter  # as said above
    from pypdf.generic import StreamObject  # as said above

    writer = PdfWriter(clone_from=io.BytesIO(data))
    seen: set[int] = set()
    for page in writer.pages:
        for image in page.images:
            place = image.indirect_reference
            if place is None or place.idnum in seen:
                continue
            seen.add(place.idnum)
            about = place.get_object()
            if isinstance(about, StreamObject) and _is_photograph(about) and image.image is not None:
                image.replace(image.image, quality=QUALITY)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def _is_photograph(image: StreamObject) -> bool:
    """Whether it is packed without loss, and badly; what shines through keeps its mask."""
    packed, pixels = len(image._data), int(str(image["/Width"])) * int(str(image["/Height"]))  # noqa: SLF001 - as packed
    is_plain = image.get("/Filter") == "/FlateDecode" and "/SMask" not in image and "/Mask" not in image
    return is_plain and packed > SMALL and packed > PHOTOGRAPH * pixels
