"""Somebody moves in: an old collection is imported from its page, then searched, replayed and verified."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import older
from tests.databases import search_engine
from tests.old_collection import add_pages, unpack
from tests.unit.imports.archives import Said, write_warc
from tests.webserver.browser import Browser
from tests.webserver.fixtures import Library, open_library
from tests.webserver.server import Server

pytestmark = [pytest.mark.browser, pytest.mark.once]
PAGES = 33
"""Three of the real collection, and those that are added to it."""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("collection")
    for library in open_library(folder, Server, PLUGINS=f'["hashes", "search_backend_{search_engine()}"]'):
        for name, value in library.visitor.jar.items():
            browser.set_cookie(library.server.url, name, value)
        yield library


def words(browser: Browser) -> str:
    return str(browser.value("document.querySelector('main').innerText"))


def find(collection: Library, query: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(collection.visitor.get(f"/api/v1/snapshots?q={query}").text)["items"]
    return found


def test_an_old_collection_is_imported_found_replayed_and_verified(
    browser: Browser, collection: Library, tmp_path: Path
) -> None:
    source = add_pages(unpack("0.7.4", tmp_path), PAGES - 3)
    before = older.digest(source)
    browser.go(f"{collection.server.url}/import/archives/")
    browser.value(f"document.querySelector('[name=path]').value = {json.dumps(str(source))}")
    browser.value("document.querySelector('[name=path]').form.requestSubmit()")
    browser.wait_for("!!document.querySelector('[name=transfer]')", 180)
    assert browser.value("document.querySelector('.found dd').innerText") == str(PAGES)
    report = words(browser)
    for said in ("ArchiveBox 0.6 or 0.7 collection", "accounts: 2 (administrators: 1)", "Logs are not taken over."):
        assert said in report
    browser.value("document.querySelector('.choices button').click()")
    browser.wait_for("document.querySelector('.found') && document.querySelector('.badge').innerText == 'done'", 180)
    assert browser.value("document.querySelector('.found dd').innerText") == str(PAGES)
    assert "Logs are not taken over." in words(browser)
    assert older.digest(source) == before

    assert [one["title"] for one in find(collection, "medlar+17")] == ["Orchard 17"]
    page = find(collection, "quinces")[0]
    browser.go(f"{collection.server.url}/snapshots/{find(collection, 'medlar+17')[0]['id']}/")
    assert browser.in_frame("document.querySelector('h1').innerText") == "Orchard 17"
    assert page["title"] == "Quinces of the north"

    verifying = collection.visitor.post("/jobs/start/", "/", kind="verify", all="yes", q="-title:story")
    job = verifying.headers["location"]
    collection.server.wait_for(lambda: "badge good" in collection.visitor.get(job).text, 180)
    said = re.sub(r"<[^>]+>", "", collection.visitor.get(job).text)
    assert f"{PAGES} of {PAGES} pages" in said


def test_a_file_is_uploaded_in_pieces_and_gone_when_its_pages_are_here(
    browser: Browser, collection: Library, tmp_path: Path
) -> None:
    path = tmp_path / "fruit.warc"
    write_warc(path, [Said("https://fruit.example/", b"<title>Loquat</title><p>loquat" + b"<!--.-->" * 40_000)])
    browser.go(f"{collection.server.url}/import/archives/")
    browser.value("document.querySelector('[data-pieces]').dataset.pieces = 100000")
    browser.choose_file("[name=file]", path)
    browser.value("document.querySelector('[data-pieces]').requestSubmit()")
    browser.wait_for("!!document.querySelector('[name=visibility]') && !!document.querySelector('.found')", 180)
    assert "fruit.warc" in words(browser)
    uploads = collection.server.folder / "imports" / "uploads"
    assert [one.stat().st_size for one in uploads.glob("*/fruit.warc")] == [path.stat().st_size]
    browser.value("document.querySelector('.choices button').click()")
    browser.wait_for("document.querySelector('.badge') && document.querySelector('.badge').innerText == 'done'", 180)
    assert [one["title"] for one in find(collection, "loquat")] == ["Loquat"]
    assert list(uploads.iterdir()) == []
