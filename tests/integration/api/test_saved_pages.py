"""A page that SingleFile saved in somebody's browser becomes a Snapshot, once, and nobody's who may not add."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from archivebox.accounts.models import AuditEntry
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.evidence.verification import problems_of
from archivebox.core.models import Snapshot
from archivebox.imports.models import ImportedSnapshot
from archivebox.search.removal import remove
from tests.integration.api.conftest import Caller, Make

pytestmark = pytest.mark.database
PATH = "/api/v1/snapshots/singlefile"
SAVED = (Path(__file__).parents[2] / "unit" / "imports" / "files" / "single.html").read_bytes()
URL = "https://bank.example/account"


def send(who: Caller, content: bytes = SAVED, url: str | None = URL, **headers: str) -> HttpResponse:
    """As the extension sends it: the file first, no key, and an origin of its own."""
    fields: dict[str, Any] = {"file": SimpleUploadedFile("SingleFile.html", content, "text/html")}
    fields |= {} if url is None else {"url": url}
    sent = {"Origin": "chrome-extension://mpiodijhokgodhhofbcjdecpffjipkle", "Accept": "multipart/form-data", **headers}
    answer: HttpResponse = who.client.post(PATH, fields, headers=sent)  # type: ignore[assignment]  # the client's own kind
    return answer


def test_a_page_that_singlefile_sends_becomes_a_snapshot(caller: Make) -> None:
    answer = send(caller("editor", "add"))
    assert answer.status_code == 201, answer.content
    told = json.loads(answer.content)
    page = Snapshot.objects.get(pk=told["id"])
    assert (told["url"], told["title"], told["path"]) == (URL, "The lighthouse keeper", f"/snapshots/{page.pk}/")
    assert (page.url, page.status, str(page.created_by), page.sealed_at.year) == (URL, "sealed", "editor", 2026)  # type: ignore[union-attr]
    assert (page.path / "singlefile" / "singlefile.html").read_bytes() == SAVED
    assert "spiral stairs" in (page.path / "htmltotext" / "htmltotext.txt").read_text()
    assert problems_of([page]) == {}
    assert AuditEntry.objects.filter(action="snapshot.uploaded", object_id=str(page.pk)).exists()
    assert not list(DATA_FOLDER.imports.glob("reading-*"))


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_a_page_that_is_sent_again_is_kept_once(caller: Make, headers: dict[str, str]) -> None:
    sender = caller("editor", "add")
    first, again = (send(sender, SAVED, URL, **headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201 if headers else 200)
    assert json.loads(first.content) == json.loads(again.content)
    assert Snapshot.objects.count() == ImportedSnapshot.objects.count() == 1


def test_a_page_that_was_removed_is_not_brought_back_by_its_file(caller: Make) -> None:
    send(caller("editor", "add"))
    remove(Snapshot.objects.all())
    answer = send(caller("editor", "add"))
    assert answer.status_code == 422
    assert "removed since" in json.loads(answer.content)["detail"]


def test_the_url_is_that_of_the_file_where_none_is_sent(caller: Make) -> None:
    assert json.loads(send(caller("editor", "add"), url=None).content)["url"] == "http://127.0.0.1:8765/"


@pytest.mark.parametrize(
    ("content", "url", "said"),
    [
        (b"<title>x</title>", None, "does not have the URL of its page"),
        (b"<title>x</title>", "file:///etc/passwd", "does not have the URL of its page"),
        (b"", URL, "empty"),
        (b"<!--\n Page saved with SingleFile \n saved date: Mon May 06 2199 09:08:09 GMT+0200 (x)\n-->", URL, "date"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_reason(caller: Make, content: bytes, url: str, said: str) -> None:
    before = set(DATA_FOLDER.users.rglob("singlefile.html"))
    answer = send(caller("editor", "add"), content, url)
    assert answer.status_code == 422
    assert said in json.loads(answer.content)["detail"]
    assert not Snapshot.objects.exists()
    assert set(DATA_FOLDER.users.rglob("singlefile.html")) == before


def test_two_accounts_keep_the_same_file_each(caller: Make) -> None:
    assert [send(caller(role, "add")).status_code for role in ("editor", "admin")] == [201, 201]


def test_who_may_only_name_urls_sends_no_pages(caller: Make, settings: Any) -> None:
    settings.PUBLIC_ADD_VIEW = True
    assert send(caller("viewer", "admin")).status_code == 403
    assert send(Caller()).status_code in {401, 403}
    assert not Snapshot.objects.exists()
