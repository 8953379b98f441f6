"""Owns the pages in legacy encodings that nothing declares: neither header nor document, so that browsers guess.

`/charset/windows-1251`, `/charset/shift_jis` and `/charset/gb18030` are articles; the script and the style sheet of
each are in the same encoding and do not say so either: they inherit it from the document (Encoding, HTML standard).
"""

from __future__ import annotations

import html
from functools import cache

from tests.site.prose import LANGUAGES, Prose
from tests.site.wire import Request, Response, Route, page

ENCODED = {"windows-1251": "ru", "shift_jis": "ja", "gb18030": "zh"}
"""Encoding → code of the language it is used for."""
FOLDER = "/charset/"


@cache
def texts(encoding: str) -> tuple[str, str, str, str]:
    """Title, paragraphs (markup), what the script says, what the style sheet says."""
    author = Prose(f"charset {encoding}", LANGUAGES[ENCODED[encoding]])
    title = author.phrase()
    paragraphs = "\n".join(f"<p>{html.escape(author.sentences(3, 6))}</p>" for _ in range(12))
    return title, paragraphs, author.sentence(), author.phrase()


def document(request: Request) -> Response:
    """One page, or its script, or its style sheet."""
    encoding, _, part = request.path.removeprefix(FOLDER).partition("/")
    if encoding not in ENCODED or part not in {"", "said.js", "styled.css"}:
        return Response(page("Not Found", "<h1>404</h1>"), status=404)
    title, paragraphs, said, styled = texts(encoding)
    if part == "said.js":
        script = f'document.getElementById("said").textContent = "{said}";\n'
        return Response(script.encode(encoding), "text/javascript")
    if part == "styled.css":
        style = f'#styled::before {{ content: "{styled}"; background: #e9c46a; font-size: 24px }}\n'
        return Response(style.encode(encoding), "text/css")
    head = f'<link rel="stylesheet" href="{request.path}/styled.css"><link rel="icon" href="/favicon.ico">'
    script = f'<script src="{request.path}/said.js"></script>'
    body = f'<h1>{title}</h1>{paragraphs}<p id="said"></p><p id="styled"></p>{script}'
    whole = f"<!doctype html>\n<html><head><title>{title}</title>{head}</head>\n<body>\n{body}\n</body></html>\n"
    return Response(whole.encode(encoding), "text/html")


ROUTES = (
    Route(
        f"{FOLDER}*",
        "articles in windows-1251, Shift_JIS and GB18030, which nothing declares",
        document,
        "text/html",
        sample=f"{FOLDER}windows-1251",
    ),
)
