"""A list is looked at before it is added, added part by part, and undone."""

import csv
import io
import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.crawls.models import Crawl
from archivebox.jobs.actions import ACTIONS, AddLinks
from archivebox.jobs.importing import Imported
from archivebox.jobs.models import Job
from archivebox.jobs.runner import next_part
from tests import factories
from tests.browser_databases import PLACES, made
from tests.integration.api.conftest import Caller, Make
from tests.job_runner import carried_out
from tests.status_triggers import arrange
from tests.webserver.markup import page_of

pytestmark = pytest.mark.database
BOOKMARKS = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<DL><p>
<DT><A HREF="https://a.example/pears" ADD_DATE="1700000000" TAGS="fruit,late">Pears</A>
<DT><A HREF="https://b.example/" ADD_DATE="1700000001">Known</A>
<DT><A HREF="javascript:alert(1)">A bookmarklet</A>
<DT><A HREF="https://c.example/">Third</A>
"""


def give(who: Caller, content: bytes, name: str = "bookmarks.html", **fields: str) -> HttpResponse:
    answer: HttpResponse = who.client.post("/import/", {"file": SimpleUploadedFile(name, content), **fields})  # type: ignore[assignment]  # the client's own kind
    return answer


def one(who: Caller, job: Job, **fields: str) -> HttpResponse:
    path = f"/import/{job.pk}/"
    answer: HttpResponse = who.client.post(path, fields) if fields else who.client.get(path)  # type: ignore[assignment]  # the client's own kind
    return answer


@pytest.fixture
def editor(caller: Make) -> Caller:
    return caller("editor")


def test_what_was_found_is_told_before_anything_is_added_and_then_it_is(editor: Caller) -> None:
    known = factories.crawl("https://b.example/")
    assert give(editor, BOOKMARKS.encode()).status_code == 302
    job = Job.objects.get()
    told = re.sub(r"<[^>]+>", "", page_of(one(editor, job)))
    assert "2 new1 already archived1 cannot be archived" in told
    assert "Line 5" in told
    assert "not added yet" in editor.client.get("/jobs/").content.decode()
    assert Crawl.objects.count() == 1
    rows = list(csv.DictReader(io.StringIO(b"".join(editor.client.get(f"/import/{job.pk}/refused.csv")).decode())))
    assert [(row["line"], row["text"]) for row in rows] == [("5", "javascript:alert(1)")]
    assert one(editor, job, change="add", depth="0", again="never", tags="mine").status_code == 302
    done = carried_out(Job.objects.get())
    crawl = Crawl.objects.exclude(pk=known.pk).get()
    assert (done.done, crawl.label) == (2, "Import of bookmarks.html")
    pages = crawl.snapshot_set.all()
    assert {row.url: (row.title, {tag.name for tag in row.tags.all()}, row.bookmarked_at) for row in pages} == {
        "https://a.example/pears": ("Pears", {"fruit", "late", "mine"}, datetime.fromtimestamp(1_700_000_000, UTC)),
        "https://c.example/": ("Third", {"mine"}, None),
    }
    assert "2</b> of 2 pages added" in page_of(one(editor, job))
    assert one(editor, job, change="undo").status_code == 302
    assert list(Snapshot.objects.kept().values_list("crawl", flat=True)) == [known.pk]


def test_a_database_of_firefox_shows_dates_and_tags_before_it_is_added(editor: Caller, tmp_path: Path) -> None:
    database = made(tmp_path / "places.sqlite", PLACES).read_bytes()
    assert give(editor, database, "places.sqlite").status_code == 302
    job = Job.objects.get()
    told = re.sub(r"<[^>]+>", " ", page_of(one(editor, job)))
    for words in (
        "2  new",
        "Hello, world",
        "https://a.example/",
        "2023-11-14 22:13",
        "design, web tools, Work, Research",
    ):
        assert words in told
    one(editor, job, change="add", depth="0")
    carried_out(Job.objects.get())
    first = Snapshot.objects.get(url="https://a.example/")
    assert first.bookmarked_at == datetime(2023, 11, 14, 22, 13, 20, 123456, UTC)
    assert {tag.name for tag in first.tags.all()} == {"design", "web tools", "Work", "Research"}


def test_visited_pages_are_taken_where_they_are_chosen_and_other_databases_refused(
    editor: Caller, tmp_path: Path
) -> None:
    database = made(tmp_path / "places.sqlite", PLACES).read_bytes()
    assert give(editor, database, "places.sqlite", parts="history").status_code == 302
    assert "https://visited.example/" in page_of(one(editor, Job.objects.get()))
    refused = give(editor, made(tmp_path / "other.sqlite", "CREATE TABLE cookies (x)").read_bytes(), "Cookies")
    assert refused.status_code == 422
    assert "Cookies is a database, but neither Firefox" in page_of(refused)


def test_each_of_its_pages_has_a_state_and_what_failed_is_told_as_csv(editor: Caller) -> None:
    give(editor, BOOKMARKS.encode())
    job = Job.objects.get()
    here = f"/import/{job.pk}/"
    one(editor, job, change="add", depth="0")
    assert editor.client.post(f"/jobs/{job.pk}/", {"change": "pause", "next": here})["location"] == here
    assert "Resume" in page_of(one(editor, job))
    editor.client.post(f"/jobs/{job.pk}/", {"change": "resume", "next": here})
    carried_out(Job.objects.get())
    pears, *_ = Snapshot.objects.filter(url__contains="pears")
    ArchiveResult.objects.create(snapshot=pears, plugin="pdf", status="failed", reason="timeout")
    rows = re.findall(
        r'class="what">.*?href="/snapshots/([^/]+)/".*?class="badge', page_of(one(editor, job)), re.DOTALL
    )
    assert {*rows} == {str(key) for key in Snapshot.objects.values_list("pk", flat=True)}
    told = b"".join(editor.client.get(f"/import/{job.pk}/failed.csv")).decode()
    assert told.splitlines() == ["url,why", "https://a.example/pears,pdf: It exceeded its time limit and was stopped."]


def test_it_goes_on_where_it_was_and_ends_where_its_crawl_was_stopped(
    editor: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AddLinks, "batch", 2)
    give(editor, "\n".join(f"https://many.example/{n}" for n in range(7)).encode(), "list.txt")
    job = Job.objects.get()
    one(editor, job, change="add", depth="0")
    looked = []

    def die_once() -> None:
        looked.append(Snapshot.objects.count())
        if len(looked) == 2:  # what was prepared is lost, and is prepared again
            ACTIONS[Job.Kind.IMPORT](Job.objects.get()).prepare([])
        if len(looked) == 3:
            arrange(Crawl.objects.all(), status="cancelled")

    done = carried_out(Job.objects.get(), between=die_once)
    assert (looked, done.status, next_part(done)) == ([0, 2, 4, 4], "sealed", None)
    assert sorted(Snapshot.objects.values_list("url", flat=True)) == [f"https://many.example/{n}" for n in range(4)]


def test_a_list_that_was_not_added_is_discarded(editor: Caller) -> None:
    give(editor, b"https://a.example/", "list.txt")
    job = Job.objects.get()
    assert "not added yet" in page_of(editor.client.get("/import/"))
    assert editor.client.get(f"/jobs/{job.pk}/").headers["location"] == f"/import/{job.pk}/"
    assert one(editor, job, change="forget").status_code == 302
    assert not Job.objects.exists()
    assert not Imported(job.pk).found.exists()


def test_nothing_is_begun_where_all_is_archived_already(editor: Caller) -> None:
    factories.crawl("https://b.example/")
    give(editor, b"https://b.example/", "list.txt")
    answer = one(editor, Job.objects.get(), change="add", depth="0", again="never")
    assert (answer.status_code, "already archived" in page_of(answer)) == (422, True)


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("index.html", b"\0" * 10_000_000)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "has no URL in it"),
        (zipped(), "not a WACZ file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(1000), "holds no text"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><rss><channel>&a;</channel></rss>', "declares XML entities"),
    ],
)
def test_what_is_no_list_is_refused_with_a_sentence(editor: Caller, content: bytes, sentence: str) -> None:
    answer = give(editor, content, "strange")
    assert (answer.status_code, sentence in page_of(answer)) == (422, True), page_of(answer)
    assert not Job.objects.exists()


def test_a_page_that_no_parser_is_to_read_is_refused_with_a_sentence(caller: Make) -> None:
    typed = {"urls": "<html>" + "<div>" * 100_000, "depth": 0}
    answer = caller("editor").client.post("/add/preview/", typed)
    assert "nested too deeply" in answer.content.decode()
