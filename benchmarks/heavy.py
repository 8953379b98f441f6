"""A page of 1.4 MB, as heavy as a plain one of the web: prose, twelve photographs (PNG or JPEG), style and script."""

import contextlib
import functools
import io
import random
import struct
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from PIL import Image

from tests.site.prose import LANGUAGES, Prose

PICTURES = 12
WIDE, HIGH = 200, 150
"""Pixels of a picture: as noise, which no format makes smaller, they come to the 90 kB of a photograph."""
JPEG_SIZE, JPEG_QUALITY = (800, 600), 80
COARSEST, FINER = 128, 0.1
"""Pixels of the largest spots in a JPEG, and how much spots of half that size add to it: so it has the 1.5 bits a pixel
of twelve real photographs (512 to 1,280 px, quality 75 to 88), and AVIF makes as much of it."""


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind, body = answer(self.path.partition("?")[0])
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - signature of http.server
        """Quiet."""


@functools.cache
def answer(path: str) -> tuple[str, bytes]:
    match path.rpartition(".")[2]:
        case "png":
            return "image/png", noise(path)
        case "jpg":
            return "image/jpeg", photograph(path)
        case "css":
            return "text/css", "".join(f".c{n} {{ margin: {n}px; color: #{n:06x} }}\n" for n in range(2000)).encode()
        case "js":
            return "text/javascript", "".join(f"function f{n}(a) {{ return a * {n} }}\n" for n in range(6000)).encode()
        case _:
            return "text/html; charset=utf-8", document("jpg" if path == "/photographs" else "png")


def document(kind: str) -> bytes:
    prose = Prose("heavy", LANGUAGES["en"])
    parts = [
        "<!doctype html><html lang=en><title>Heavy</title><link rel=stylesheet href=/style.css><h1>Heavy</h1><article>"
    ]
    for number in range(PICTURES):
        parts += [f"<h2>{prose.phrase()}</h2>", f"<img src=/{number}.{kind} alt='{prose.phrase()}'>"]
        parts += [f"<p>{prose.sentences(8, 20)}</p>" for _ in range(3)]
    return "".join([*parts, "</article><script src=/app.js></script></html>"]).encode()


def noise(seed: str) -> bytes:
    """A PNG in which no two pixels are alike."""
    source = random.Random(seed)
    rows = b"".join(b"\0" + source.randbytes(WIDE * 3) for _ in range(HIGH))
    parts = (b"IHDR" + struct.pack(">IIBBBBB", WIDE, HIGH, 8, 2, 0, 0, 0), b"IDAT" + zlib.compress(rows), b"IEND")
    chunks = (struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part)) for part in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def photograph(seed: str) -> bytes:
    """A JPEG with spots of all sizes, the large ones strong, as in what is seen."""
    source = random.Random(seed)
    picture, spot = None, COARSEST
    while spot:
        size = JPEG_SIZE[0] // spot, JPEG_SIZE[1] // spot
        spots = Image.frombytes("RGB", size, source.randbytes(size[0] * size[1] * 3)).resize(JPEG_SIZE)
        picture = spots if picture is None else Image.blend(picture, spots, FINER)
        spot //= 2
    file = io.BytesIO()
    (picture or Image.new("RGB", JPEG_SIZE)).save(file, "JPEG", quality=JPEG_QUALITY)
    return file.getvalue()


@contextlib.contextmanager
def heavy_site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
