"""Owns the binary files of the local web that are built here: PNG, icon and PDF."""

from __future__ import annotations

import struct
import zlib
from functools import cache

TEAL = "#2a9d8f"
NAVY = "#264653"


@cache
def png(width: int, height: int, colour: str) -> bytes:
    """A picture of one flat colour (`#rrggbb`), 8 bits per channel, no alpha (PNG specification, 3rd edition)."""
    row = b"\0" + bytes.fromhex(colour.removeprefix("#")) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (b"IHDR" + header, b"IDAT" + zlib.compress(row * height, 9), b"IEND")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )


@cache
def icon(size: int, colour: str) -> bytes:
    """An .ico with one picture inside, stored as PNG."""
    picture = png(size, size, colour)
    entry = struct.pack("<BBBBHHII", size, size, 0, 0, 1, 24, len(picture), 6 + 16)
    return struct.pack("<HHH", 0, 1, 1) + entry + picture


@cache
def pdf(text: str) -> bytes:
    """A PDF 1.4 of one page that says `text` (ASCII without brackets), with a correct cross-reference table."""
    content = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode("ascii")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]/Contents 5 0 R /Resources << /Font << /F1 4 0 R >>>>>>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    )
    out, places = b"%PDF-1.4\n", []
    for number, written in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, written)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + head + table + trailer
