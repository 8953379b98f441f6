"""Every page of the local web answers as its table says (tests/site/README.md)."""

from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

from tests.site.routes import ROUTES
from tests.site.serve import Site


def ask(url: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
    """One answer, read to its end; redirects are not followed."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_each_route_answers_as_its_table_says(site: Site) -> None:
    wrong = []
    for route in (route for route in ROUTES if not route.unending):
        answer, body = ask(site.url_for(route.link))
        length = None if route.status in {204, 304} else str(len(body))
        said = (answer.status, answer.headers["Content-Type"], answer.headers["Content-Length"], b"%SITE%" in body)
        if said != (route.status, route.type, length, False):
            wrong.append((route.path, said))
    assert wrong == []
