"""Owns the pages that are about HTTP itself: redirects, cookies, logins, conditions, echoes."""

from __future__ import annotations

import base64
import html
from http import HTTPStatus

from tests.site.wire import JSON, TEXT, Request, Response, Route, as_json, page, redirect

USER, PASSWORD = "archive", "box"
ETAG = '"local-web-1"'
REFUSALS = 2
BATCHES = 40
ITEMS = 10
NOT_FOUND = page("Not Found", "<h1>404</h1><p>There is no such page here.</p>")


def not_found(_request: Request) -> Response:
    return Response(NOT_FOUND, status=404)


def first_redirect(_request: Request) -> Response:
    return redirect(301, "/redirect/second")


def second_redirect(_request: Request) -> Response:
    return redirect(302, "/article")


def redirect_elsewhere(request: Request) -> Response:
    return redirect(302, f"{request.origins[1]}/article")


def redirect_loop(request: Request) -> Response:
    return redirect(302, "/redirect-loop/back" if request.path == "/redirect-loop" else "/redirect-loop")


def cookies(request: Request) -> Response:
    """Six cookies, one per attribute that matters; the page shows those that came back."""
    attributes = {
        "plain": "Path=/",
        "kept": "Path=/; Max-Age=86400",
        "http_only": "Path=/; HttpOnly",
        "secure": "Path=/; Secure",
        "strict": "Path=/; SameSite=Strict",
        "none": "Path=/; SameSite=None; Secure",
    }
    sent = tuple(("Set-Cookie", f"{name}={name}-value; {rest}") for name, rest in attributes.items())
    came = html.escape(request.headers.get("cookie", "none"))
    body = f"""<h1>Cookies</h1><p>Cookies that came: <code id="came">{came}</code></p>
<p>Cookies that script sees: <code id="seen"></code></p>
<script>document.getElementById("seen").textContent = document.cookie</script>"""
    return Response(page("Cookies", body), headers=sent)


def auth_basic(request: Request) -> Response:
    expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    if request.headers.get("authorization") == expected:
        return Response(page("Let in", "<h1>Let in</h1><p>Behind the login.</p>"))
    challenge = (("WWW-Authenticate", 'Basic realm="Local Web"'),)
    return Response(page("Login needed", "<h1>401</h1>"), status=401, headers=challenge)


def headers(request: Request) -> Response:
    return Response(as_json(dict(request.headers)), JSON)


def echo(request: Request) -> Response:
    """What was posted, as JSON; bytes that are not UTF-8 show as replacement characters."""
    if request.method != "POST":
        return Response(page("Post to me", "<h1>405</h1>"), status=405, headers=(("Allow", "POST"),))
    text = request.body.decode("utf-8", "replace")
    return Response(as_json({"body": text, "headers": dict(request.headers), "length": len(request.body)}), JSON)


def etag(request: Request) -> Response:
    tags = (("ETag", ETAG), ("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT"), ("Cache-Control", "no-cache"))
    wanted = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if wanted & {ETAG, "*"}:
        return Response(type=None, status=304, headers=tags)
    return Response(page("Unchanged", "<h1>Unchanged since 2023</h1>"), headers=tags)


def rate_limited(request: Request) -> Response:
    """429 twice, then 200, then again from the start; a client is its address, user agent and `?key=`."""
    client = "|".join((request.client, request.headers.get("user-agent", ""), request.value("key", "")))
    if request.counters.next(f"rate-limited {client}") % (REFUSALS + 1):
        return Response(page("Too many", "<h1>429</h1>"), status=429, headers=(("Retry-After", "2"),))
    return Response(page("Patience rewarded", "<h1>Patience rewarded</h1>"))


def status(request: Request) -> Response:
    """`/status/418` answers 418; codes without a final answer (1xx) and non-numbers are 404."""
    given = request.path.removeprefix("/status/")
    if not (given.isascii() and given.isdigit() and 200 <= int(given) <= 599):
        return not_found(request)
    code = int(given)
    phrase = HTTPStatus(code).phrase if code in list(HTTPStatus) else "Unassigned"
    return Response(page(f"{code} {phrase}", f"<h1>{code}</h1>"), status=code)


def server_error(_request: Request) -> Response:
    return Response(page("Internal Server Error", "<h1>500</h1>"), status=500)


def dup(_request: Request) -> Response:
    """The query changes nothing, and the page says so."""
    body = "<h1>One page, many addresses</h1>"
    return Response(page("One page", body, head='<link rel="canonical" href="/dup">'))


def no_head(request: Request) -> Response:
    if request.method == "HEAD":
        return Response(b"GET it\n", TEXT, 405, (("Allow", "GET"),))
    return Response(page("No HEAD", "<h1>A page that is given to those who GET it</h1>"))


def batch(request: Request) -> Response:
    """Batch `n` (from 0) of the endless page; the last one says so, later ones are empty."""
    number = request.number("n", 0, 10**6)
    items = [f"Item {number * ITEMS + index}" for index in range(ITEMS)] if number < BATCHES else []
    return Response(as_json({"items": items, "last": number >= BATCHES - 1, "n": number}), JSON)


def git(request: Request) -> Response:
    """Files of the bare repository, as they lie: the dumb protocol needs no more."""
    if request.git_folder is None:
        return Response(b"git is not installed on this machine\n", TEXT, 404)
    root = request.git_folder.resolve()
    file = (root / request.path.removeprefix("/git/")).resolve()
    if not (file.is_relative_to(root) and file.is_file()):
        return not_found(request)
    return Response(file.read_bytes(), "application/octet-stream")


ROUTES = (
    Route("/redirect", "301, then 302, then /article", first_redirect, status=301),
    Route("/redirect/second", "the second step of /redirect", second_redirect, status=302),
    Route("/redirect/elsewhere", "302 to /article on another origin", redirect_elsewhere, status=302),
    Route("/redirect-loop", "302 there and back for ever", redirect_loop, status=302),
    Route("/redirect-loop/back", "the other half of /redirect-loop", redirect_loop, status=302),
    Route("/cookies", "sets cookies of six kinds, shows those that came back", cookies),
    Route("/auth-basic", f"asks for a login: {USER} and {PASSWORD}", auth_basic, status=401),
    Route("/headers", "the request headers as JSON", headers, JSON),
    Route("/echo", "answers a POST with its body and headers as JSON", echo, status=405),
    Route("/etag", "304 when asked with its ETag", etag),
    Route("/rate-limited", "429 with Retry-After: 2 twice, then 200, per client", rate_limited, status=429),
    Route("/404", "a page that is not there", not_found, status=404),
    Route("/500", "a server that failed", server_error, status=500),
    Route("/status/*", "answers with the status in its path", status, status=418, sample="/status/418"),
    Route("/dup", "the same page whatever its query", dup, sample="/dup?x=1"),
    Route("/no-head", "a page that answers HEAD with 405", no_head),
    Route("/endless/batch", f"the {BATCHES} batches of /endless", batch, JSON, sample="/endless/batch?n=0"),
    Route(
        "/git/*", "a bare git repository over dumb http", git, "application/octet-stream", sample="/git/repo.git/HEAD"
    ),
)
