"""Owns the documents of which there is more than one appearance, and those that are much of one thing.

* `/responsive`: `srcset` with densities and widths, `picture` for dark mode and small windows; each choice has a colour
* `/image-set`: the same in style sheets
* `/thrice`: one frame address three times, which shows something else each time
* `/large.html?mb=3`: so many MB (20 at most) of prose with headings and pictures
* `/embedded-pdf`: a PDF as object, embed and frame
* `/manual`: a page of documentation, with boxes of the class `sidebar` in its text and one beside it
"""

from __future__ import annotations

from functools import cache

from tests.site.prose import LANGUAGES, Prose
from tests.site.wire import Request, Response, Route, page

HEAD = '<link rel="stylesheet" href="/style.css"><link rel="icon" href="/favicon.ico">'
MB = 1_000_000
FRAMES = (("first", "#e76f51"), ("second", "#2a9d8f"), ("third", "#457b9d"))
EVERY = 50
"""Paragraphs from one heading of the large document to the next."""

RESPONSIVE = """<h1>Pictures for every screen</h1>
<p>By density: 320 points wide.</p>
<img src="/swatches/1d3557-320x100" srcset="/swatches/1d3557-320x100 1x, /swatches/2a9d8f-640x200 2x" alt="density"
 width="320" height="100">
<p>By width of the window.</p>
<img src="/swatches/8ab17d-1440x100" srcset="/swatches/e63946-360x100 360w, /swatches/f4a261-720x100 720w,
 /swatches/8ab17d-1440x100 1440w, /swatches/bc6c25-2880x100 2880w" sizes="100vw" alt="width"
 style="width: 100%; height: 100px">
<p>By colour scheme and window.</p>
<picture><source media="(prefers-color-scheme: dark)" srcset="/swatches/111111-320x100, /swatches/222222-640x200 2x">
<source media="(max-width: 400px)" srcset="/swatches/dda15e-320x100, /swatches/606c38-640x200 2x">
<img src="/swatches/e9c46a-320x100" srcset="/swatches/283618-640x200 2x" alt="scheme" width="320"
 height="100"></picture>
"""
IMAGE_SET = """<style>
div { width: 320px; height: 100px; margin: 8px 0 }
#strings { background-image: image-set("/swatches/1d3557-320x100" 1x, "/swatches/2a9d8f-640x200" 2x) }
#urls { background-image: image-set(url(/swatches/e63946-320x100) 1x, url("/swatches/f4a261-640x200") 2x) }
#typed { background-image: image-set("/no/such" type("image/x-none"), "/swatches/8ab17d-320x100" type("image/png")) }
#prefixed { background-image: -webkit-image-set(url(/swatches/bc6c25-320x100) 1x, url(/swatches/606c38-640x200) 2x) }
</style><h1>Sets of pictures</h1><p>As strings.</p><div id="strings"></div><p>As addresses.</p><div id="urls"></div>
<p>By type.</p><div id="typed"></div><p>By the older name.</p><div id="prefixed"></div>
<p>In an attribute.</p><div style="background-image: image-set('/swatches/e9c46a-320x100' 1x)"></div>"""


EMBEDDED = """<h1>PDFs in a page</h1><object data="/file.pdf" width="300" height="200">no PDF as object</object>
<embed src="/file.pdf?embed" width="300" height="200"><iframe src="/file.pdf?frame" width="300"></iframe>"""


def thrice(request: Request) -> Response:
    """The page; its frames begin anew."""
    request.counters.reset(_frames_of(request))
    frame = '<iframe src="/thrice/frame" width="300" height="120"></iframe>'
    return Response(page("Three frames", f"<h1>Three frames of one address</h1>{frame * 3}", head=HEAD))


def frame(request: Request) -> Response:
    """Something else than the time before."""
    count = request.counters.next(_frames_of(request))
    word, colour = FRAMES[(count - 1) % len(FRAMES)]
    body = f'<body style="margin: 0; background: {colour}; color: #ffffff"><h2>The {word} answer</h2></body>'
    return Response(page(word, body), headers=(("Cache-Control", "no-store"),))


def _frames_of(request: Request) -> str:
    return f"thrice {request.client} {request.headers.get('user-agent', '')}"


@cache
def _large(size: int) -> bytes:
    author = Prose("large", LANGUAGES["en"])
    pool = [author.sentences(4, 7) for _ in range(400)]
    parts, length, number = [f"<h1>{size // MB} million characters</h1>"], 0, 0
    while length < size:
        number += 1
        heading = f"<h2>Chapter {number // EVERY + 1}</h2>" if number % EVERY == 1 else ""
        picture = '<img src="/swatches/2a9d8f" alt="" width="80" height="60">' if number % EVERY == 1 else ""
        parts.append(f'{heading}{picture}<p id="p{number}"><b>{number}</b> {pool[number * 7 % len(pool)]}</p>')
        length += len(parts[-1]) + 1
    return page("Large", "\n".join(parts), head=HEAD)


def large(request: Request) -> Response:
    return Response(_large((request.number("mb", 3, 20) or 1) * MB))


@cache
def _manual() -> bytes:
    author = Prose("manual", LANGUAGES["en"])
    paragraphs = [f"<p>{author.sentences(3, 5)}</p>" for _ in range(12)]
    boxes = [
        f'<div class="{kind}"><p class="{kind}-title">{author.phrase()}</p><p>{author.sentences(5, 8)}</p></div>'
        for kind in ("sidebar", "admonition note", "sidebar")
    ]
    links = "".join(f'<li><a href="/tree/?{number}">{author.phrase()}</a></li>' for number in range(20))
    style = "<style>.sidebar, .admonition { float: right; width: 40%; border: 1px solid #aaa; padding: 0 1em }</style>"
    contents = f'<div class="sphinxsidebar sidebar-nav" role="navigation"><h3>Contents</h3><ul>{links}</ul></div>'
    text = "".join(
        f"<section><h2>{author.phrase()}</h2>{paragraphs[at]}{box}{''.join(paragraphs[at + 1 : at + 4])}</section>"
        for at, box in zip((0, 4, 8), boxes, strict=True)
    )
    return page(
        "Manual",
        f'{contents}<div class="body" role="main"><h1>How to keep a harbour</h1>{text}</div>',
        head=HEAD + style,
    )


ROUTES = (
    Route("/responsive", "srcset and picture", lambda _: Response(page("Responsive", RESPONSIVE, head=HEAD))),
    Route("/image-set", "image-set() in style sheets", lambda _: Response(page("Sets", IMAGE_SET, head=HEAD))),
    Route("/thrice", "one frame address three times", thrice),
    Route("/thrice/frame", "the frame of /thrice, which changes", frame),
    Route("/large.html", "?mb= MB of prose", large, sample="/large.html?mb=3"),
    Route("/embedded-pdf", "PDFs as object, embed and frame", lambda _: Response(page("PDFs", EMBEDDED, head=HEAD))),
    Route("/manual", "documentation with sidebar boxes in its text", lambda _: Response(_manual())),
)
