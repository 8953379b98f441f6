"""Owns the pages that live by scripts: what they fetch, and the documents their scripts start from.

Built of npm packages (`bundles.py`), all in the same words, with `#items`, `button[data-item="1"]` (shows `#details`,
recorded because it was fetched ahead), `#to-about` (goes to `#about` by `history.pushState`) and a deep route that
loads by itself (`#item`):

* `/apps/react/`, `/apps/react/items/2`: React and its router
* `/apps/vue/`, `/apps/vue/items/2`: Vue, its template compiler and router, modules, a part that is loaded on demand
* `/apps/svelte/`, `/apps/svelte/items/2`: Svelte, XMLHttpRequest
* `/apps/solid/`, `/apps/solid/items/2`: Solid
* `/apps/hydrated/`: rendered by the server, made live by Preact; without a deep route

Others:

* `/apps/import-map`: modules by an import map, some of another origin, one imported on demand
* `/apps/lit`: Lit in shadow roots: open, nested, closed; declarative ones, open and closed
* `/apps/reveal`: sections that AOS shows when they are scrolled to
* `/apps/canvas`, `/apps/webgl`: a chart and a triangle, drawn from what was fetched
* `/apps/blob`: pictures whose addresses are `blob:`
* `/apps/worker/`: bodies that a service worker makes
* `/apps/socket`, `/apps/events`, `/apps/polling`, `/apps/graphql`: a WebSocket, an event stream, a job that is asked
  for again and again, queries by POST
* `/apps/hls`: a stream that hls.js gives to a video element
* `/apps/trusted-types`: a strict Content-Security-Policy with Trusted Types
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TypedDict

from tests.site.bundles import ANYWHERE, SOURCES, BuildError, built
from tests.site.pictures import png
from tests.site.static import TYPES, file, static
from tests.site.wire import JSON, TEXT, Handler, Request, Response, Route, as_json, page

STYLE = '<link rel="stylesheet" href="/shop.css"><link rel="icon" href="/favicon.ico">'
REVEAL_STYLE = '<link rel="stylesheet" href="/built/reveal.css">'
FRAMEWORKS = ("react", "vue", "svelte", "solid")
SHOPS = (*FRAMEWORKS, "hydrated")
SHOWN_BY_SCRIPTS = {
    "/apps/import-map": "Words of a module from another origin",
    "/apps/reveal": "Seed cabinet",
    "/apps/canvas": "Brass compass 18.40",
    "/apps/webgl": "Drawn by WebGL",
    "/apps/blob": "6 pictures, each from a blob",
    "/apps/worker/": "made by the worker",
    "/apps/socket": "nobody is at sea",
    "/apps/events": "that was all",
    "/apps/polling": "The job is done",
    "/apps/graphql": "A compass in a brass case",
    "/apps/hls": "Stream of 3 seconds is ready",
    "/apps/trusted-types": "A script that a policy let in",
}
"""Path → words that only its scripts put into the page."""
CSP = (
    "default-src 'self'; script-src 'nonce-harbour' 'strict-dynamic'; object-src 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types harbour"
)
SWATCH = re.compile(r"/swatches/([0-9a-f]{6})(?:-([1-9]\d{0,3})x([1-9]\d{0,3}))?")


class Shop(TypedDict):
    """What packages/shop.json has."""

    items: list[dict[str, str]]
    descriptions: dict[str, str]
    about: dict[str, str]


@cache
def _shop() -> Shop:
    shop: Shop = json.loads((SOURCES / "shop.json").read_text("utf-8"))
    return shop


def items(_request: Request) -> Response:
    return Response(as_json(_shop()["items"]), JSON)


def _item(number: str) -> dict[str, str] | None:
    """An item with its description."""
    found = next((one for one in _shop()["items"] if str(one["id"]) == number), None)
    return found and {**found, "description": _shop()["descriptions"][number]}


def item(request: Request) -> Response:
    found = _item(request.path.rpartition("/")[2])
    return Response(as_json(found or {"error": "no such item"}), JSON, 200 if found else 404)


def about(_request: Request) -> Response:
    return Response(as_json(_shop()["about"]), JSON)


def graphql(request: Request) -> Response:
    """An item for ``query($id: Int!)``, all of them for a query without variables (GraphQL over HTTP)."""
    if request.method != "POST":
        return Response(as_json({"errors": [{"message": "POST a query"}]}), JSON, 405, (("Allow", "POST"),))
    asked = json.loads(request.body)
    number = asked.get("variables", {}).get("id")
    data = {"items": _shop()["items"]} if number is None else {"item": _item(str(number))}
    return Response(as_json({"data": data}), JSON)


def swatch(request: Request) -> Response:
    """`/swatches/2a9d8f` or `/swatches/2a9d8f-400x300`: a picture of one colour."""
    asked = SWATCH.fullmatch(request.path)
    if asked is None:
        return Response(b"not a colour\n", TEXT, 404)
    return Response(png(int(asked[2] or 80), int(asked[3] or 60), f"#{asked[1]}"), "image/png")


def application(name: str) -> Handler:
    """The document of an application, the same for each of its routes: all else is its script's work."""
    kind = 'type="module"' if name == "vue" else "defer"
    head = f'{STYLE}<script src="/built/{name}.js" {kind}></script>'
    whole = page(f"Harbour shop: {name}", '<div id="app"></div>', head=head)
    return lambda _request: Response(whole)


def hydrated(_request: Request) -> Response:
    """The page as its component renders it, with the data from which its script goes on."""
    try:
        markup = (built() / "hydrated.html").read_text("utf-8")
    except BuildError as error:
        return Response(f"{error}\n".encode(), TEXT, 500)
    data = json.dumps({"items": _shop()["items"]}).replace("<", "\\u003c")
    body = f'<div id="app">{markup}</div><script type="application/json" id="data">{data}</script>'
    script = '<script src="/built/hydrated-client.js" defer></script>'
    return Response(page("Harbour shop: hydrated", body, head=STYLE + script))


def _job_of(request: Request) -> str:
    return f"job {request.client} {request.headers.get('user-agent', '')}"


def polling(request: Request) -> Response:
    """The page that asks for its job; each load begins a new one."""
    request.counters.reset(_job_of(request))
    return static("app-polling.html")(request) or Response(status=500)


def job(request: Request) -> Response:
    """The job of the client's last load: queued, running, then done for ever."""
    count = request.counters.next(_job_of(request))
    state = ("queued", "running", "done")[min(count, 3) - 1]
    rows = [one["name"] for one in _shop()["items"]] if state == "done" else []
    return Response(as_json({"state": state, "rows": rows}), JSON, headers=(("Cache-Control", "no-store"),))


def events(_request: Request) -> Response:
    """A stream of one event per item, and one that says it was the last (HTML standard, 9.2)."""
    lines = "".join(f"id: {number}\ndata: {one['name']}\n\n" for number, one in enumerate(_shop()["items"], 1))
    return Response(f"{lines}event: end\ndata: that was all\n\n".encode(), "text/event-stream")


def bundled(path: str, about: str, script: str, body: str, head: str = "") -> Route:
    """A page that one built script makes live."""
    scripts = f'<script src="/built/{script}.js" defer></script>'
    whole = page(about.partition(":")[0], body, head=STYLE + head + scripts)
    return Route(path, about, lambda _request: Response(whole))


def _section(one: dict[str, str]) -> str:
    picture = f'<img src="{one["picture"]}-320x120" alt="" width="320" height="120">'
    text = _shop()["descriptions"][str(one["id"])]
    return f'<section data-aos="fade-up"><h2>{one["name"]}</h2>{picture}<p>{text}</p></section>'


REVEAL = f"<header><h1>Revealed by scrolling</h1></header><main>{''.join(map(_section, _shop()['items']))}</main>"
LIT = """<header><h1>Shadow roots</h1></header><main>
<p>Words in the light.</p>
<harbour-card></harbour-card>
<harbour-vault></harbour-vault>
<div><template shadowrootmode="open"><style>p { background: #a8dadc; padding: 16px }</style>
<p>Declared in an open shadow root, <a href="/tree/">with a link</a></p></template></div>
<div><template shadowrootmode="closed"><style>p { background: #f4a261; padding: 16px }</style>
<p>Declared in a closed shadow root, <a href="/unicode">with another link</a></p></template></div>
</main>"""
HLS = """<header><h1>A stream</h1></header><main><video width="320" height="240" muted playsinline></video>
<p id="state">Loading the stream</p></main>"""

ROUTES = (
    *(
        Route(f"/apps/{name}/*", f"a shop in {name.capitalize()}", application(name), sample=f"/apps/{name}/")
        for name in FRAMEWORKS
    ),
    Route("/apps/hydrated/*", "a shop that its server has rendered", hydrated, sample="/apps/hydrated/", unending=True),
    file("/apps/import-map", "modules by an import map", "app-import-map.html"),
    Route(
        "/apps/elsewhere.js",
        "a module for pages of any origin",
        static("app-elsewhere.js", headers=ANYWHERE),
        TYPES[".js"],
    ),
    bundled("/apps/lit", "Shadow roots: Lit, and declarative ones", "lit", LIT),
    bundled("/apps/reveal", "Revealed by scrolling: AOS", "reveal", REVEAL, REVEAL_STYLE),
    file("/apps/canvas", "a chart on a canvas", "app-canvas.html"),
    file("/apps/webgl", "a triangle by WebGL", "app-webgl.html"),
    file("/apps/blob", "pictures whose addresses are blob:", "app-blob.html"),
    file("/apps/worker/", "bodies that a service worker makes", "app-worker.html"),
    file("/apps/worker/service.js", "the worker that makes them", "app-service.js"),
    file("/apps/socket", "what a WebSocket says", "app-socket.html"),
    file("/apps/events", "what an event stream says", "app-events.html"),
    Route("/apps/polling", "a job that is asked for again and again", polling),
    file("/apps/graphql", "queries by POST", "app-graphql.html"),
    bundled("/apps/hls", "A stream: hls.js", "stream", HLS),
    file("/apps/stream.m3u8", "its list", "stream.m3u8"),
    *(file(f"/apps/stream-{number}.ts", "a second of it", f"stream-{number}.ts") for number in range(3)),
    Route(
        "/apps/trusted-types",
        "a strict Content-Security-Policy with Trusted Types",
        static("app-trusted-types.html", headers=(("Content-Security-Policy", CSP),)),
    ),
    file("/shop.css", "the style sheet of all of these"),
    Route("/api/shop/items", "what the shop sells", items, JSON),
    Route("/api/shop/items/*", "one of these, with its description", item, JSON, sample="/api/shop/items/1"),
    Route("/api/shop/about", "a text about the shop", about, JSON),
    Route("/api/graphql", "the same by POST", graphql, JSON, 405),
    Route("/api/job", "the state of the job of /apps/polling", job, JSON),
    Route("/api/events", "an event for each item", events, "text/event-stream"),
    Route("/swatches/*", "pictures of one colour", swatch, "image/png", sample="/swatches/2a9d8f-400x300"),
)
