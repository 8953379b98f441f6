"""Pages that other programs saved are imported, then shown and found, while their site is not there any more."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import search_engine
from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library, open_library
from tests.webserver.server import Server, in_collection

pytestmark = [pytest.mark.browser, pytest.mark.once]
FILES = Path(__file__).parents[2] / "unit" / "imports" / "files"
NAMES = ("wget.warc.gz", "wget.wacz", "browser.har", "page.mhtml", "single.html")
"""Of one site, at 127.0.0.1:8765, where nobody answers."""
BEGIN = """
import sys
from pathlib import Path
from django.contrib.auth.models import User
from archivebox.imports.readers import open_reader
from archivebox.jobs.inspecting import begin_import
for name in sys.argv[1:]:
    begin_import(Path(name), open_reader(Path(name)).report(), User.objects.get(username="eve"), visibility="members")
"""
DONE = """
import json
from archivebox.imports.models import ImportedSnapshot
from archivebox.jobs.models import Job
jobs = Job.objects.filter(kind="import_pages")
names = {job.memory["source"]: job.options["path"].rpartition("/")[2] for job in jobs}
rows = ImportedSnapshot.objects.order_by("pk").values_list("source", "snapshot_id", "snapshot__title")
pages = {names[source]: str(key) for source, key, title in rows if title == "The lighthouse keeper"}
print(json.dumps({} if jobs.exclude(status="sealed").exists() else pages))
"""
TOKEN = """
import sys
from django.contrib.auth.models import User
from archivebox.accounts import tokens
print(tokens.issue(User.objects.get(username="reader"), "SingleFile", sys.argv[1:])[1])
"""
LARGE = 12_000_000
"""Bytes, more than any form may have."""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    yield from open_library(
        tmp_path_factory.mktemp("collection"), Server, PLUGINS=f'["hashes", "search_backend_{search_engine()}"]'
    )


@pytest.fixture(scope="module")
def imported(browser: Browser, collection: Library) -> dict[str, str]:
    """File → the Snapshot of the page in it that shows a lamp, which workers have imported."""
    folder = collection.server.folder
    in_collection(folder, BEGIN, *(str(FILES / name) for name in NAMES))
    pages: dict[str, str] = {}

    def is_done() -> bool:
        pages.update(json.loads(in_collection(folder, DONE)))
        return bool(pages)

    collection.server.wait_for(is_done, 180)
    for name, value in collection.visitor.jar.items():
        browser.set_cookie(collection.server.url, name, value)
    return pages


@pytest.mark.parametrize("name", NAMES)
def test_an_imported_page_is_shown_without_its_site(
    browser: Browser, collection: Library, imported: dict[str, str], name: str
) -> None:
    browser.go(f"{collection.server.url}/snapshots/{imported[name]}/")
    assert browser.in_frame("document.querySelector('h1').innerText", 60) == "The lighthouse keeper"
    assert browser.in_frame("document.images[0].complete && document.images[0].naturalWidth", 60) == 16


def test_each_is_found_by_a_word_of_its_text(collection: Library, imported: dict[str, str]) -> None:
    answer = collection.visitor.get("/api/v1/snapshots?q=spiral")
    found = {one["id"] for one in json.loads(answer.text)["items"]}
    assert found >= set(imported.values())
    assert len(imported) == len(NAMES)


def sent(collection: Library, scope: str) -> int:
    """The status of the answer to a large page that SingleFile sends with a token of that scope."""
    token = in_collection(collection.server.folder, TOKEN, scope)
    page = b"<title>Large</title><p>Mangosteen<!--" + b"x" * LARGE + b"-->"
    file = b'Content-Disposition: form-data; name="file"; filename="SingleFile.html"\r\nContent-Type: text/html\r\n\r\n'
    url = b'Content-Disposition: form-data; name="url"\r\n\r\nhttp://large.example/'
    body = b"--b\r\n" + file + page + b"\r\n--b\r\n" + url + b"\r\n--b--\r\n"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "multipart/form-data; boundary=b"}
    connection = http.client.HTTPConnection("127.0.0.1", collection.server.port, timeout=180)
    try:
        connection.request("POST", "/api/v1/snapshots/singlefile", body, headers)
        return connection.getresponse().status
    except (BrokenPipeError, ConnectionResetError):
        return 413  # refused before all was sent
    finally:
        connection.close()


def test_a_page_larger_than_a_form_is_taken_from_who_may_add(collection: Library) -> None:
    assert sent(collection, "read") == 413
    assert sent(collection, "add") == 201
    found = json.loads(collection.visitor.get("/api/v1/snapshots?q=mangosteen").text)["items"]
    assert [one["url"] for one in found] == ["http://large.example/"]
