"""Owns the pages that give something else than the page, and those that look as if they did.

* `/limited?seconds=3&key=a`: 429 with `Retry-After` until so many seconds after the first request with this key
* `/challenge?status=403&ms=800`: asks browsers for patience, then sets a cookie and loads itself again; `status` (200
  unless told) is that of the challenge
* `/unavailable?retry=2`: 503 with `Retry-After` for ever; its text is the page (without `retry`: no such header)
* `/members/article`: a log-in wall: 302 to `/login?next=…`
* `/late/letters?ms=600`, `/late/visitors?ms=600`: an article that a script replaces so long after its load, once by the
  log-in form, once by a check of visitors with status 403 that stays; `/late/notice?ms=600`: a notice with status 403
  that is replaced by an article with status 200
* `/login`: the same form for who asks for it
"""

from __future__ import annotations

import json
import math
from urllib.parse import quote

from tests.site.prose import LANGUAGES, Prose
from tests.site.wire import Request, Response, Route, page

HOUR = 3_600_000  # milliseconds
HEAD = '<link rel="stylesheet" href="/style.css"><link rel="icon" href="/favicon.ico">'
CHALLENGE = """<h1>Checking your browser</h1><p>This takes a moment.</p>
<script>setTimeout(() => { document.cookie = "harbour_pass=1; path=/challenge"; location.reload(); }, %d);</script>"""
FORM = """<h1>Log in</h1><form method="post" action="/login"><label>Name <input name="name" autocomplete="username">
</label><label>Password <input name="password" type="password" autocomplete="current-password"></label>
<button>Log in</button></form><p>Members read the harbour letters. Ask the keeper for a password.</p>"""


def _article(title: str) -> Response:
    author = Prose(title, LANGUAGES["en"])
    paragraphs = "".join(f"<p>{author.sentences(3, 5)}</p>" for _ in range(6))
    picture = '<img src="/swatches/457b9d-320x120" alt="" width="320" height="120">'
    return Response(page(title, f"<article><h1>{title}</h1>{picture}{paragraphs}</article>", head=HEAD))


def limited(request: Request) -> Response:
    """429 for as long as it says, then an article."""
    seconds = request.number("seconds", 3, 3600)
    left = seconds - request.counters.seconds_since_first(f"limited {request.value('key', '')}")
    if left <= 0:
        return _article("After the limit")
    headers = (("Retry-After", str(math.ceil(left))),)
    return Response(page("Slow down", "<h1>Slow down</h1><p>Too many requests.</p>"), status=429, headers=headers)


def challenge(request: Request) -> Response:
    """The challenge for who has not its cookie, an article for who has."""
    if "harbour_pass=1" in request.headers.get("cookie", ""):
        return _article("Behind the challenge")
    status = request.number("status", 200, 599) or 200
    body = CHALLENGE % request.number("ms", 800, HOUR)
    return Response(page("Just a moment", body), status=status, headers=(("Cache-Control", "no-store"),))


def unavailable(request: Request) -> Response:
    retry = request.value("retry", "")
    body = """<article><h1>Closed for the winter</h1><p>The harbour office is closed until the ice has gone. Letters are
kept in the box beside the door, and boats may be tied to the northern pier without asking.</p><p>In case of need
ring the bell of the lighthouse, whose keeper has the keys.</p></article>"""
    headers = (("Retry-After", retry),) if retry else ()
    return Response(page("Closed for the winter", body, head=HEAD), status=503, headers=headers)


def members(request: Request) -> Response:
    """To the form, with the way back."""
    location = f"/login?next={quote(request.path, safe='')}"
    return Response(page("Moved", "<h1>Log in first</h1>"), status=302, headers=(("Location", location),))


def late(request: Request) -> Response:
    """A document that another replaces after the load: what says so is a file, so that nothing foretells it."""
    kind, ms = request.path.rpartition("/")[2], request.number("ms", 600, HOUR)
    goes = {"letters": "/login?next=/late/letters", "visitors": f"/challenge?status=403&ms={HOUR}", "notice": "/after"}
    script = f'<script src="/late/go.js?to={quote(goes.get(kind, "/after"), safe="")}&ms={ms}"></script>'
    if kind != "notice":
        body = "".join(f"<p>{Prose(kind, LANGUAGES['en']).sentences(3, 5)}</p>" for _ in range(6))
        return Response(page("Letters", f"<article><h1>Letters</h1>{body}</article>{script}", head=HEAD))
    return Response(page("One moment", f"<h1>One moment</h1>{script}"), status=403)


def go(request: Request) -> Response:
    """The script that goes elsewhere after a while."""
    text = "setTimeout(() => { window.open(%s, '_self'); }, %d);"
    body = text % (json.dumps(request.value("to", "/")), request.number("ms", 600, HOUR))
    return Response(body.encode(), "text/javascript")


def after(_request: Request) -> Response:
    return _article("After the notice")


def log_in(_request: Request) -> Response:
    return Response(page("Log in", FORM, head=HEAD))


ROUTES = (
    Route(
        "/limited", "429 until ?seconds= have passed, per ?key=", limited, status=429, sample="/limited?seconds=3600"
    ),
    Route("/challenge", "a challenge that loads itself again, then an article", challenge),
    Route("/unavailable", "503 for ever", unavailable, status=503),
    Route("/members/*", "a log-in wall", members, status=302, sample="/members/article"),
    Route("/late/go.js", "a script that goes elsewhere", go, type="text/javascript"),
    Route("/late/*", "a document that another replaces after its load", late, sample="/late/letters"),
    Route("/after", "what replaces a notice", after),
    Route("/login", "a log-in form", log_in),
)
