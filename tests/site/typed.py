"""Owns HTML of the type that the request names, as servers write types, and a page that asks for itself."""

from __future__ import annotations

from tests.site.wire import Request, Response, Route

ASKS_ITSELF = b'<title>Dup</title><h1>Hello</h1><script>fetch(location.href,{cache:"no-store"})</script>'


def typed(request: Request) -> Response:
    """The type that `?type=` says; none where it is empty."""
    body = '<h1>Typed</h1><p><a id="there" href="/article">There</a> <img src="/image.png" alt="">'
    return Response(body.encode(), request.value("type", "") or None)


ROUTES = (
    Route("/typed", "HTML of the type in ?type=", typed, "text/html", sample="/typed?type=text/html"),
    Route("/asks-itself", "a page whose script fetches it anew at once", lambda _request: Response(ASKS_ITSELF)),
)
