"""Owns the pages of `modern.html`: a small one for each of the last years' additions to HTML, CSS and the DOM.

`<!-- name: what it is for -->` begins each, `<!-- header Name: value -->` adds to its answer. It is at `/modern/name`.
What has a suffix is a part of another page; a page without one gets a head. `/modern/anywhere/*` answers everything,
to everybody.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.site.bundles import ANYWHERE
from tests.site.static import TYPES
from tests.site.wire import HTML, JSON, Request, Response, Route, as_json, page

HEAD = """<link rel="icon" href="/favicon.ico"><meta name="viewport" content="width=device-width">
<style>body { font: 20px/1.4 sans-serif; margin: 24px }</style>"""
_PART = re.compile(r"^<!-- ([a-z][a-z.-]*): (.+) -->\n((?:<!-- header .+ -->\n)*)", re.MULTILINE)
_HEADER = re.compile(r"<!-- header ([\w-]+): (.+) -->")
_SCRIPT = re.compile(r"<script(?! type=\"speculation)")


class Part(NamedTuple):
    """One answer: a page, or what a page needs."""

    path: str
    about: str
    body: bytes
    headers: tuple[tuple[str, str], ...]

    @property
    def type(self) -> str:
        return TYPES.get(Path(self.path).suffix, HTML)

    @property
    def is_page(self) -> bool:
        return not Path(self.path).suffix

    @property
    def lives(self) -> bool:
        """Whether scripts make something of what is seen."""
        return bool(_SCRIPT.search(self.body.decode()))

    def answer(self, request: Request) -> Response:
        return Response(request.fill_in(self.body), self.type, headers=self.headers)


def _parts(text: str) -> tuple[Part, ...]:
    _, *pieces = _PART.split(text)
    return tuple(
        Part(
            f"/modern/{name}",
            about,
            body.encode() if "." in name else page(about, body, head=HEAD),
            tuple(_HEADER.findall(headers)),
        )
        for name, about, headers, body in zip(*[iter(pieces)] * 4, strict=True)
    )


PARTS = _parts(Path(__file__).with_suffix(".html").read_text("utf-8"))
SAID = as_json({"said": "This was recorded"})

ROUTES = (
    *(Route(part.path, part.about, part.answer, part.type) for part in PARTS),
    Route(
        "/modern/anywhere/*",
        "data for pages of any origin, whatever is asked for",
        lambda _request: Response(SAID, JSON, headers=ANYWHERE),
        JSON,
        sample="/modern/anywhere/rows",
    ),
)
