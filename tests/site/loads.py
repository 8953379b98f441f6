"""Owns the page that numbers its loads, so that the answers of one load can be told from those of another."""

from __future__ import annotations

from tests.site.wire import Request, Response, Route, page

WORDS = "An archive keeps what was there at one moment, and says so; what came later is another version of the page. "
BY_BROWSER = "navigate"
"""What browsers say of a load in ``Sec-Fetch-Mode`` (Fetch Metadata Request Headers); programs say nothing."""


def loads(request: Request) -> Response:
    """A short article whose parts carry the number of this load in their URLs; other clients than browsers get 0."""
    number = request.number("page", 0, 10**6)
    is_load = request.headers.get("sec-fetch-mode") == BY_BROWSER
    load = request.counters.next(f"loads {number}") if is_load else 0
    part = f"page={number}&amp;load={load}"
    head = f'<link rel="stylesheet" href="/style.css?{part}"><link rel="icon" href="/favicon.ico">'
    body = f"""<article><h1>Page {number}</h1><p id="load">load={load}</p>
<p>{WORDS * 4}</p><p>{WORDS * 3}</p><p><a href="/article">an article</a></p>
<img src="/image.png?{part}" alt="a flat colour" width="400" height="300">
<img src="/svg.svg?{part}" alt="a drawing"></article>
<script>
fetch("/data.json?page={number}&load={load}&soon");
setTimeout(() => fetch("/data.json?page={number}&load={load}&later"), 150);
</script>"""
    return Response(page(f"Page {number}", body, head=head))


ROUTES = (Route("/loads", "a page that numbers its loads (?page=)", loads, sample="/loads?page=1"),)
