"""Feeds, the browser's extension, saved searches, jobs; and the API against its own description."""

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from archivebox.accounts import tokens
from archivebox.core.models import Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.jobs.models import Job
from tests import factories
from tests.integration.api.conftest import Caller, Make

CHECKS = (not_a_server_error, content_type_conformance, response_schema_conformance)
EXAMPLES = int(os.environ.get("API_EXAMPLES", "2"))
"""Requests that are tried for each operation."""
URLS = ["https://example.com/a", "https://example.com/b?c=d&e"]


def test_a_search_is_a_feed(caller: Make) -> None:
    factories.crawl(*URLS)
    tag([Snapshot.objects.get(url=URLS[1]).pk], ["news"])
    reader = caller("viewer", "feed")
    answer = reader.ask("GET", "/api/v1/feeds/snapshots.rss?q=%23news")
    assert answer["Content-Type"].startswith("application/rss+xml")
    items = ET.fromstring(answer.content).findall("channel/item")
    assert [item.findtext("description") for item in items] == [URLS[1]]
    assert [item.findtext("category") for item in items] == ["news"]
    Snapshot.objects.update(title="Rings\x07\uffff a bell")
    assert reader.ask("GET", "/api/v1/feeds/snapshots.rss?q=bell%0E").status_code == 200
    answer = reader.ask("GET", "/api/v1/feeds/snapshots.rss")
    assert ET.fromstring(answer.content).findtext("channel/item/title") == "Rings a bell"
    feed = reader.get("/api/v1/feeds/snapshots.json")
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert [item["external_url"] for item in feed["items"]] == URLS[::-1]


def test_only_a_token_for_feeds_alone_is_taken_in_an_address(caller: Make) -> None:
    user = caller("viewer").user
    assert user is not None
    for scopes, status in ((["feed"], 200), (["read"], 401), (["feed", "read"], 401)):
        _, text = tokens.issue(user, "x", scopes)
        assert Caller().ask("GET", f"/api/v1/feeds/snapshots.rss?token={text}").status_code == status
        assert Caller().ask("GET", f"/api/v1/snapshots?token={text}").status_code == 422


def test_the_browsers_extension_adds_tabs(caller: Make) -> None:
    user = caller("editor").user
    assert user is not None
    _, text = tokens.issue(user, "extension", ["add"])
    sent = {"urls": URLS, "tags": "a, b", "depth": 0, "parser": "auto", "update": False}
    answer = Caller().client.post(
        "/api/v1/cli/add", json.dumps(sent), "text/plain;charset=UTF-8", headers={"X-ArchiveBox-API-Key": text}
    )
    assert answer.status_code == 200, answer.content
    assert answer.json()["success"] is True
    assert sorted(Snapshot.objects.values_list("url", flat=True)) == URLS
    assert Snapshot.objects.filter(tags__name="b").count() == 2


def test_a_search_is_saved_renamed_and_forgotten_by_its_owner_alone(caller: Make) -> None:
    editor = caller("editor")
    made = editor.post("/api/v1/searches", {"name": "News", "query": "#news"})
    path = f"/api/v1/searches/{made['id']}"
    assert caller("admin").ask("GET", path).status_code == 404
    assert editor.ask("PATCH", path, {"name": "Old news"}).status_code == 200
    assert editor.get("/api/v1/searches")["items"][0]["name"] == "Old news"
    assert editor.post("/api/v1/searches", {"name": "x", "query": "(a"}, status=422)["position"] >= 0
    assert editor.ask("DELETE", path).status_code == 204


def test_a_job_is_begun_and_steered(caller: Make) -> None:
    factories.crawl(*URLS)
    editor = caller("editor", "write")
    job = editor.post("/api/v1/jobs", {"kind": "verify", "query": ""}, status=202)
    path = f"/api/v1/jobs/{job['id']}"
    assert editor.get(path)["status"] == "queued"
    assert editor.post(f"{path}/cancel", status=200)["status"] == "cancelled"
    assert "Choose pages" in editor.post("/api/v1/jobs", {"kind": "retry"}, status=422)["detail"]
    assert editor.ask("POST", "/api/v1/jobs", {"kind": "purge", "query": ""}).status_code == 403
    assert Job.objects.count() == 1


def test_what_is_done_to_a_few_is_done_when_the_answer_comes(caller: Make) -> None:
    factories.crawl(*URLS)
    wanted = {"kind": "tag", "query": "", "options": {"tags": ["x"]}}
    job = caller("editor", "write").post("/api/v1/jobs", wanted, status=200)
    assert (job["status"], job["done"], job["total"]) == ("sealed", len(URLS), len(URLS))


@pytest.fixture
def kept_connection() -> Iterator[None]:
    """The connection of the test stays open, which a request through WSGI would close at its end."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.usefixtures("kept_connection")
def test_no_request_that_the_description_allows_breaks_the_api(caller: Make) -> None:
    """A few of what schemathesis thinks of for each operation; `make fuzz` asks it for many more."""
    user = caller("admin").user
    assert user is not None
    headers = {
        "Authorization": f"Bearer {tokens.issue(user, 'fuzz', ['admin'])[1]}",
        "Accept-Encoding": "identity",  # it asks for gzip in its own name, and does not unpack it
    }
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler(), headers=headers)
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) > 45
    for operation in operations:
        _try(operation, headers)


def _try(operation: Any, headers: dict[str, str]) -> None:
    def ask(case: Any) -> None:
        case.validate_response(case.call(headers=headers), checks=CHECKS)

    given(case=operation.as_strategy())(
        settings(
            max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=[*HealthCheck]
        )(ask)
    )()
