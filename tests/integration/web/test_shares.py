"""A share link shows replay and article of a page, or of what a search finds, until it ends; and nothing else."""

import re
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.webserver.fixtures import Library
from tests.webserver.recording import Page, record
from tests.webserver.rows import PASSWORD
from tests.webserver.server import Answer, Visitor, in_collection

ARTICLE = """
import sys
from archivebox.core.models import ArchiveResult, Snapshot
page = Snapshot.objects.get(pk=sys.argv[1])
Snapshot.objects.filter(pk=page.pk).update(quality=None)
folder = page.path / "article"
(folder / "pictures").mkdir(parents=True)
(folder / "article.html").write_text('<p>Only the words</p><img src="pictures/a.png">')
(folder / "pictures" / "a.png").write_bytes(b"picture")
files = {"article.html": {"size": 1, "mimetype": "text/html"}, "pictures/a.png": {"size": 7, "mimetype": "image/png"}}
ArchiveResult.objects.create(snapshot=page, plugin="article", status="succeeded", output_files=files)
"""
CHANGE = "import sys; from archivebox.{0} import {1}; {1}.objects.filter(pk=sys.argv[1]).update({2})"


@pytest.fixture(scope="module", autouse=True)
def kept(library: Library) -> None:
    """A recording and an article of the newest page."""
    record(Path(library.folder), {library.url: Page(b"<title>t</title><p>Replayed <a href='/else'>on</a>")})
    in_collection(Path(library.server.folder), ARTICLE, library.snapshot)


def share(library: Library, who: Visitor | None = None, **of: str) -> str:
    """The path of a new link."""
    page = (who or library.visitor).post("/shares/", form_at="/shares/", **of).text
    found = re.search(r"<code>http://[^/]+(/shared/[^<]+)</code>", page)
    assert found, page
    return found.group(1)


def change(library: Library, module: str, model: str, key: str, values: str) -> None:
    in_collection(Path(library.server.folder), CHANGE.format(module, model, values), key)


def framed(page: Answer) -> str:
    found = re.search(r'<iframe class="shared-frame" src="([^"]+)"', page.text)
    assert found, page.text
    return unescape(found.group(1))


def replayed(library: Library, address: str) -> Answer:
    parts = urlsplit(address)
    return library.server.ask(parts.path, port=library.server.replay_port, host=parts.netloc)


def test_a_page_is_replayed_and_read_without_a_log_in(library: Library) -> None:
    link = share(library, snapshot=library.snapshot)
    assert len(link.split("/")[2]) == 22, "128 bits"
    page = library.stranger().get(link)
    assert page.status == 200
    assert (page.headers["x-robots-tag"], page.headers["referrer-policy"]) == ("noindex, nofollow", "no-referrer")
    assert page.cookies == []
    shown = replayed(library, framed(page))
    assert "Replayed" in shown.text
    assert shown.headers["cache-control"] == "no-store"
    assert "allow-top-navigation" not in shown.headers["content-security-policy"], "links lead nowhere"
    article = library.stranger().get(f"{link}?view=article").text
    assert "Only the words" in article
    picture = re.search(r'<img src="([^"]+a.png)"', article)
    assert picture
    assert replayed(library, picture.group(1)).text == "picture"


def test_a_link_opens_no_other_file_and_no_other_page(library: Library) -> None:
    link = share(library, snapshot=library.snapshot)
    base = framed(library.stranger().get(link)).removesuffix(library.url)
    for file in ("singlefile/singlefile.html", "responses/index.jsonl", "article/article.html", "", "responses/"):
        assert replayed(library, base + file).status == 404, file
    assert replayed(library, base.replace(library.snapshot, library.other)).status == 403
    assert library.stranger().get(f"{link}{library.other}/").status == 404
    assert library.stranger().get(f"/snapshots/{library.snapshot}/").headers["location"].startswith("/login/")


def test_what_opens_first_of_a_poor_replay_is_shared_alone_of_the_files(library: Library) -> None:
    link = share(library, snapshot=library.snapshot)
    change(library, "core.models", "Snapshot", library.snapshot, "quality=12")
    frame = framed(library.stranger().get(link))
    shown = replayed(library, frame)
    assert frame.endswith("/singlefile/singlefile.html")
    assert (shown.status, shown.headers["cache-control"]) == (200, "no-store")
    assert "allow-top-navigation" not in shown.headers["content-security-policy"], "links lead nowhere"
    assert replayed(library, frame.replace("singlefile.html", "other.html")).status == 403
    assert replayed(library, frame.replace("singlefile/singlefile.html", library.url)).status == 403
    change(library, "core.models", "Snapshot", library.snapshot, "quality=None")


@pytest.mark.parametrize(
    ("module", "model", "values", "back"),
    [
        ("core.models", "Snapshot", "visibility='private'", "visibility='public'"),
        ("core.models", "Snapshot", "retired_at='2026-01-01T00:00Z'", "retired_at=None"),
    ],
)
def test_what_a_link_had_opened_ends_with_what_it_shows(
    library: Library, module: str, model: str, values: str, back: str
) -> None:
    link = share(library, snapshot=library.snapshot)
    frame = framed(library.stranger().get(link))
    change(library, module, model, library.snapshot, values)
    assert replayed(library, frame).status == 403
    assert library.stranger().get(link).status == 404
    change(library, module, model, library.snapshot, back)
    assert replayed(library, frame).status == 200


def test_a_link_that_is_revoked_or_has_expired_opens_nothing(library: Library) -> None:
    for ending in ("revoke", "expire"):
        link = share(library, snapshot=library.snapshot)
        frame = framed(library.stranger().get(link))
        key = re.findall(r'action="/shares/([^/]+)/revoke/"', library.visitor.get("/shares/").text)[0]
        if ending == "revoke":
            library.visitor.post(f"/shares/{key}/revoke/", form_at="/shares/")
        else:
            change(library, "search.models", "ShareLink", key, "expires_at='2026-01-01T00:00Z'")
        assert replayed(library, frame).status == 403, ending
        assert library.stranger().get(link).status == 404, ending
    record_page = library.visitor.get("/people/record/").text
    assert "share.created" in record_page
    assert "share.revoked" in record_page


def test_views_are_counted_and_the_token_is_stored_nowhere(library: Library) -> None:
    link = share(library, snapshot=library.snapshot)
    for _ in range(3):
        library.stranger().get(link)
    counted = "from archivebox.search.models import ShareLink as S; s = S.objects.first(); print(s.view_count, vars(s))"
    said = in_collection(Path(library.server.folder), counted)
    assert said.startswith("3 ")
    assert link.split("/")[2] not in said


def test_a_shared_search_is_live_and_never_shows_what_is_private(library: Library) -> None:
    library.visitor.post("/searches/", form_at="/?q=site6", q="site6", name="Six")
    key = re.findall(r'action="/searches/([^/"]+)/"', library.visitor.get("/?q=site6").text)[0]
    link = share(library, search=key)
    found = set(re.findall(rf'href="{link}([^/"]+)/"', library.stranger().get(link).text))
    assert library.snapshot in found
    assert len(found) == 11
    page = library.stranger().get(f"{link}{library.snapshot}/")
    assert "Replayed" in replayed(library, framed(page)).text
    change(library, "core.models", "Snapshot", library.snapshot, "visibility='private'")
    assert library.snapshot not in library.stranger().get(link).text
    assert replayed(library, framed(page)).status == 403
    change(library, "core.models", "Snapshot", library.snapshot, "visibility='members'")
    change(library, "search.models", "SavedSearch", key, "query='site68'")
    assert re.findall(rf'href="{link}([^/"]+)/"', library.stranger().get(link).text) == [library.other]
    assert replayed(library, framed(page)).status == 403, "it is not found any more"
    change(library, "core.models", "Snapshot", library.snapshot, "visibility='public'")


def test_an_editor_shares_own_and_public_pages_alone(library: Library) -> None:
    editor = library.stranger()
    editor.log_in("reader", PASSWORD)
    assert share(library, editor, snapshot=library.snapshot)
    for visibility, sentence in (("members", "Only its owner"), ("private", "")):
        change(library, "core.models", "Snapshot", library.snapshot, f"visibility='{visibility}'")
        answer = editor.post("/shares/", form_at="/shares/", snapshot=library.snapshot)
        assert answer.status == (422 if sentence else 404)
        assert sentence in answer.text
    refused = library.visitor.post("/shares/", form_at="/shares/", snapshot=library.snapshot)
    assert "Private pages cannot be shared" in refused.text
    change(library, "core.models", "Snapshot", library.snapshot, "visibility='public'")
