"""The app below a path of a host, behind a proxy that takes the path away or leaves it."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.webserver.fixtures import Library, open_library
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import Server, Visitor

HOST = "host.example"
PAGES = (
    "", "crawls/", "add/", "tags/", "jobs/", "failures/", "processes/", "plugins/", "settings/", "schedules/",
    "schedules/new/", "tokens/", "people/", "people/record/", "webhooks/", "admin/",
)  # fmt: skip


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    settings = {"BASE_URL": f"http://{HOST}/archive", "TRUSTED_PROXIES": '["127.0.0.1"]'}
    yield from open_library(tmp_path_factory.mktemp("below"), Server, **settings)


@pytest.mark.parametrize("asked", ["/archive/crawls/", "/crawls/"])
def test_a_proxy_may_take_the_path_away_or_leave_it(below: Library, asked: str) -> None:
    answer = below.server.ask(asked, host=HOST)
    assert (answer.status, answer.headers["location"]) == (302, "/archive/login/?next=/archive/crawls/")
    assert below.visitor.get(asked).status == 200


def test_no_page_leads_out_of_the_path(below: Library) -> None:
    pages = [*PAGES, f"snapshots/{below.snapshot}/", f"snapshots/{below.snapshot}/?show=wget", f"crawls/{below.crawl}/"]
    for page in pages:
        answer = below.visitor.get(f"/archive/{page}")
        assert answer.status == 200, page
        found = re.findall(r'\b(?:href|src|action|value|data-[\w-]+|hx-(?:get|post))="(/[^"]*)"', answer.text)
        assert found
        assert [address for address in found if not f"{address}/".startswith("/archive/")] == [], page


def test_what_pages_need_is_there(below: Library) -> None:
    style = re.search(r'href="(/archive/static/web/[^"]+\.css\?v=\w+)"', below.visitor.get("/archive/").text)
    assert style
    assert below.visitor.get(style.group(1)).status == 200
    events = re.search(r'<link rel="events" href="([^"]+)"', below.visitor.get("/archive/crawls/").text)
    assert events
    assert events.group(1).startswith("/archive/events/")


def test_signing_in_leads_below_the_path_and_logs_the_visitors_address(below: Library) -> None:
    somebody = Visitor(below.server, headers={"X-Forwarded-For": "198.51.100.1, 192.0.2.9"})
    assert somebody.log_in(NAME, PASSWORD).headers["location"] == "/archive/"
    record = below.visitor.get("/archive/people/record/").text
    assert "192.0.2.9" in record
    assert "198.51.100.1" not in record


def test_people_and_programs_are_told_the_address_that_the_proxy_has(below: Library) -> None:
    assert f"ArchiveBox is at http://{HOST}/archive (for its proxy: {below.server.url})" in below.server.output
    described = json.loads(below.visitor.get("/archive/api/v1/openapi.json").text)
    assert described["servers"] == [{"url": "/archive"}]
    assert "/api/v1/snapshots" in described["paths"]


def test_a_url_in_an_address_may_be_escaped_as_a_whole(below: Library) -> None:
    plain = below.visitor.get(f"/archive/web/latest/{below.url}")
    escaped = below.visitor.get(f"/archive/web/latest/{quote(below.url, safe='')}")
    assert plain.status == 302
    assert (escaped.status, escaped.headers["location"]) == (302, plain.headers["location"])
