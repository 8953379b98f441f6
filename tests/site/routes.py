"""Owns the table of the local web: every path, what it is for and who answers."""

from __future__ import annotations

import html

from tests.site import (
    addresses,
    applications,
    articles,
    bundles,
    charsets,
    loads,
    modern,
    network,
    overlays,
    pictures,
    roots,
    talk,
    tree,
    trouble,
    typed,
    variants,
    walls,
)
from tests.site.static import TYPES, file, static
from tests.site.wire import Handler, Request, Response, Route, page

CSP = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"


def index(_request: Request) -> Response:
    """Links to everything, one line each."""
    lines = "\n".join(
        f'<li><a href="{html.escape(route.link)}">{html.escape(route.path)}</a> {html.escape(route.about)}</li>'
        for route in ROUTES
    )
    head = (
        '<link rel="stylesheet" href="/style.css"><link rel="icon" href="/favicon.ico"><script src="/app.js"></script>'
    )
    body = f"""<h1>The Local Web</h1>
<p><img src="/image.png" alt="a flat colour" width="400" height="300"></p>
<ul>
{lines}
</ul>"""
    return Response(page("The Local Web", body, head=head))


def _bytes(body: bytes, type_: str) -> Handler:
    return lambda _request: Response(body, type_)


PICTURE = pictures.png(400, 300, pictures.TEAL)
ICON = pictures.icon(16, pictures.NAVY)

ROUTES: tuple[Route, ...] = (
    Route("/", "this page", index),
    file("/article", "a long article: byline, pictures, links, JSON-LD, og: tags"),
    file("/colour", "one flat colour, #e76f51, and the word ARCHIVED"),
    file("/red", "one flat colour, #ff0000"),
    file("/green", "one flat colour, #00ff00"),
    file("/blue", "one flat colour, #0000ff"),
    file("/tall", "5,000 px tall: #ffffff above, the last 200 px #8338ec"),
    file("/long-picture", "12,000 px tall: #ffffff above, the last 200 px #8338ec"),
    file(
        "/fixed",
        "a bar above (#ff0000) and below (#0000ff), one that sticks (#008000), a first part as high as the window",
    ),
    file("/looks", "#ffffff; #111122 for those who prefer dark, #ffdcdc on a narrow screen"),
    *tree.ROUTES,
    *articles.ROUTES,
    *talk.ROUTES,
    *network.ROUTES,
    *loads.ROUTES,
    *applications.ROUTES,
    *bundles.ROUTES,
    *charsets.ROUTES,
    *typed.ROUTES,
    *addresses.ROUTES,
    *walls.ROUTES,
    *variants.ROUTES,
    *roots.ROUTES,
    *overlays.ROUTES,
    *modern.ROUTES,
    file("/script-built", "an article of which the server sends nothing: a script writes it"),
    file("/js-redirect", "goes to /article by script"),
    file("/meta-refresh", "goes to /article by meta refresh"),
    file("/nowhere", "goes to a host that is not there, by script"),
    file("/about-429", "a page about 429 that has the words of limits and checks"),
    file("/account", "a page with a log-in form beside its words"),
    file("/iframe", "frames: same origin, other origin, nested, srcdoc"),
    file("/frame", "a frame that holds /red, for /iframe"),
    file("/lazy", "24 pictures that load when scrolled to"),
    file("/cookie-banner", "a consent banner over a page that does not scroll until accepted"),
    file("/onetrust", "a consent banner with the markup of OneTrust, after 100 ms"),
    file("/modal", "a newsletter window after 300 ms"),
    file("/unclosable", "a window without a way to close it, over a page that does not scroll"),
    file("/only-dialog", "a window that is all there is of the page"),
    file("/folded", "details, an accordion, read more, and buttons that are better left alone"),
    file("/own-scroller", "a page whose main part scrolls, not the window"),
    file("/endless", "endless scroll, 40 batches"),
    file("/video", "a video element with a real WebM and MP4"),
    file("/clip.webm", "3 s of VP8 and Opus"),
    file("/clip.mp4", "3 s of H.264 and AAC"),
    file("/hls", "a video element whose source is a stream (HLS), with subtitles"),
    file("/playlist", "three video elements"),
    file("/clip.m3u8", "the MP4 as a stream"),
    file("/clip-0.ts", "its only segment"),
    file("/captions.vtt", "subtitles (WebVTT), which roll"),
    file("/post", "a gallery of three pictures", "gallery.html"),
    file("/post.json", "the gallery in the words of a Moebooru"),
    file("/pipermail/local/2024-January/thread.html", "a mailing list's month (Pipermail)", "list-thread.html"),
    file("/pipermail/local/2024-January/000001.html", "its first letter", "list-000001.html"),
    file("/pipermail/local/2024-January/000002.html", "the answer", "list-000002.html"),
    file("/confirm-loop", "a question every 300 ms"),
    file("/reload", "loads itself again 0.4 s after each load"),
    file("/refresh-loop", "goes to itself by meta refresh"),
    file("/blocked-parser", "a script in the middle that never comes"),
    file("/long-print", "an ordinary page, but of a million sheets on paper"),
    file("/buffers", "takes memory until it is ended, outside the script's heap"),
    file("/crash-heap", "fills the script's heap"),
    file("/preloader", "a red cover until 1.5 s after the load, then a green page that fades in"),
    file("/restless", "a line that moves for ever"),
    file("/alert", "alert, confirm, prompt and beforeunload"),
    file("/webrtc", "counts the ways out that WebRTC finds"),
    file("/popup", "five window.open and a click on target=_blank"),
    file("/busy", "a script that never ends, started after load"),
    file("/console", "logs, warnings, an exception, a rejected promise"),
    file("/unicode", "Japanese, Arabic, emoji"),
    Route("/csp", "a strict Content-Security-Policy", static("csp.html", headers=(("Content-Security-Policy", CSP),))),
    Route(
        "/noindex",
        "robots: noindex, in meta and header",
        static("noindex.html", headers=(("X-Robots-Tag", "noindex"),)),
    ),
    file("/title-entities", "a title with entities and white space"),
    file("/no-title", "no title"),
    file("/shadow", "links in shadow roots"),
    file("/image-only", "a picture, and not a word"),
    *trouble.ROUTES,
    Route(
        "/lower-case.pdf",
        "the same with a header in lower case",
        lambda _: Response(pictures.pdf("The Local Web"), None, headers=(("content-type", "application/pdf"),)),
        "application/pdf",
    ),
    file("/feed.rss", "an RSS 2.0 feed"),
    file("/feed.atom", "an Atom feed"),
    file("/feed.json", "a JSON Feed 1.1"),
    file("/opml", "an outline of the three feeds", "feeds.opml"),
    file("/bookmarks.html", "bookmarks as browsers export them (Netscape format)"),
    file("/urls.txt", "URLs, one a line"),
    file("/urls.csv", "URLs with title and tags"),
    file("/urls.jsonl", "URLs as JSON lines"),
    file("/links.md", "URLs in Markdown"),
    Route(
        "/file.pdf", "a PDF of one page", _bytes(pictures.pdf("The Local Web"), "application/pdf"), "application/pdf"
    ),
    Route("/image.png", "400x300 of #2a9d8f, whatever the query", _bytes(PICTURE, "image/png"), "image/png"),
    Route("/favicon.ico", "16x16 of #264653", _bytes(ICON, "image/x-icon"), "image/x-icon"),
    file("/svg.svg", "a vector picture"),
    file("/blue.avif", "320x100 of #457b9d"),
    file("/blocks.woff2", "a font of blocks for the letters from a to z"),
    file("/page.txt", "plain text"),
    file("/data.json", "JSON"),
    file("/style.css", "the style sheet of / and /article"),
    file("/app.js", "the script of / and /article"),
    file("/robots.txt", "keeps robots out of /noindex and /private/"),
    file("/sitemap.xml", "the article and the tree"),
)
EXACT = {route.path: route for route in ROUTES}
BELOW = tuple(route for route in ROUTES if route.path.endswith("*"))
LOST = Route("*", "everything else", talk.not_found, TYPES[".html"], status=404)


def find(path: str) -> Route:
    """The route that answers `path` (without query)."""
    if path in EXACT:
        return EXACT[path]
    if path == "/tree":
        return EXACT["/tree/*"]
    return next((route for route in BELOW if route.covers(path)), LOST)
