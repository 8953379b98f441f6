"""Owns the page whose own address, and those of all it uses, are of the kinds that servers and proxies take apart.

`/odd/…` answers each of `NAMES` with a picture that is as wide as its place in the list, and nothing else: who asks for
a name that was decoded, encoded once more or made shorter gets a 404.
"""

from __future__ import annotations

import html
import json
from urllib.parse import quote

from tests.site.pictures import TEAL, png
from tests.site.wire import Request, Response, Route, page

NAMES = (
    "a%20b.png",
    "a%2Fb.png",
    "a%3Fb.png",
    "a%23b.png",
    "a%25b.png",
    "a%2520b.png",
    "%E4.png",
    "Straße.png",
    "日本/päge.png",
    "a+b;c=d,e.png",
    "double//slash.png",
    "proxy/https://example.com/a%2Fb.png",
    "proxy/https%3A%2F%2Fexample.com%2Fa.png?w=1&u=%2F%20%25",
    "~!$&'()*@:|_[1].png",
    "query?u=https://example.com/a%20b&c=ä",
)
PLACE = "/odd/"
PAGE = f"{PLACE}Stra%C3%9Fe%20%2F%3F%23%25/https://example.com//%E4"
"""The page; `PLACE` is where its pictures are."""
_SENT = tuple(quote(f"{PLACE}{name}", safe="%/?#[]@!$&'()*+,;=:~") for name in NAMES)
"""What browsers send for them."""
_STYLE = f'p{{background: url("{PLACE}{NAMES[1]}")}} h1{{background: url("../back%20gr%C3%B6und.png")}}'
_ASKS = """const widths = {}, names = %s;
const width = async name => (await createImageBitmap(await (await fetch("/odd/" + name)).blob())).width;
Promise.all(names.map(async name => { widths[name] = await width(name).catch(String); }))
  .then(() => { document.querySelector("#asked").textContent = names.map(name => widths[name]).join(" "); });"""


def _page() -> bytes:
    pictures = "".join(f'<img src="{PLACE}{html.escape(name)}" alt="">' for name in NAMES)
    head = f'<link rel="stylesheet" href="{PLACE}st%C3%BDle%2F/sheet.css">'
    frame = f'<iframe src="{PLACE}fr%C3%A4me%3F"></iframe>'
    script = f'<p id="asked"></p><script>{_ASKS % json.dumps(NAMES)}</script>'
    return page("Odd addresses", f"<h1>Odd addresses</h1>{pictures}{frame}{script}", head=head)


def odd(request: Request) -> Response:
    """What is at the address as it was sent."""
    asked = f"{request.path}?{request.query}" if request.query else request.path
    if asked == PAGE:
        return Response(_page())
    if asked == f"{PLACE}fr%C3%A4me%3F":
        return Response(page("Frame", "<p>framed</p>"))
    if asked == f"{PLACE}st%C3%BDle%2F/sheet.css":
        return Response(_STYLE.encode(), "text/css")
    if asked == f"{PLACE}back%20gr%C3%B6und.png":
        return Response(png(5, 5, TEAL), "image/png")
    if asked in _SENT:
        return Response(png(_SENT.index(asked) + 1, 4, TEAL), "image/png")
    return Response(page("Not found", "<p>no such address</p>"), status=404)


ROUTES = (Route(f"{PLACE}*", "a page with odd addresses, at one", odd, sample=PAGE),)
