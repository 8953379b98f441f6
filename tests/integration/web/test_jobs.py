"""What is done to many pages is begun, followed and undone on pages; searches are kept; failures stand by reason."""

import json
import re

from tests.webserver.fixtures import Library
from tests.webserver.rows import PASSWORD
from tests.webserver.server import Answer, in_collection


def ended(library: Library, begun: Answer) -> str:
    """The page of a job, once it has ended."""
    assert begun.status == 302, begun.text
    path = begun.headers["location"]
    library.server.wait_for(lambda: ">done<" in library.visitor.get(path).text, 60)
    return library.visitor.get(path).text


def at_once(library: Library, done: Answer) -> str:
    """The page to which one comes back from what was done to a few pages."""
    assert done.status == 302, done.text
    return library.visitor.get(done.headers["location"]).text


def begin(library: Library, **fields: str) -> Answer:
    return library.visitor.post("/jobs/start/", form_at="/", **fields)


def test_what_failed_stands_by_its_reason_and_is_tried_again(library: Library) -> None:
    page = library.visitor.get("/failures/").text
    assert "It needs wget, which is not installed." in page
    assert "Run <code>archivebox install</code>." in page
    assert "Try it again" in page
    assert "wget" in library.visitor.get("/failures/?by=plugin").text
    assert "host:site69.example is:failed" in library.visitor.get("/failures/?by=host").text
    fields = dict(re.findall(r'<input type="hidden" name="(kind|all|q|reason)" value="([^"]+)"', page))
    assert "Retrying failures of 1 page." in at_once(library, begin(library, **fields))
    assert "No failures" in library.visitor.get("/failures/").text


def test_pages_are_removed_after_a_look_at_what_that_is_and_brought_back(library: Library) -> None:
    asked = begin(library, kind="remove", all="yes", q="story host:site5.example")
    assert asked.status == 200
    assert "Remove 1 page?" in asked.text
    assert "Story 5" in library.visitor.get("/?q=host:site5.example").text
    begun = begin(library, kind="remove", all="yes", q="story host:site5.example", sure="yes", next="/jobs/")
    assert begun.headers["location"] == "/jobs/"
    undo = re.search(r'1 page removed.*?action="(/jobs/[^"]+/undo/)"', at_once(library, begun))
    assert undo
    assert "Nothing matches" in library.visitor.get("/?q=host:site5.example").text
    assert library.visitor.post(undo.group(1), form_at="/").status == 302
    assert "Story 5" in library.visitor.get("/?q=host:site5.example").text


def test_all_that_match_are_captured_again_by_one_plugin(library: Library) -> None:
    assert '<option value="wget">' in library.visitor.get("/").text
    begun = begin(library, kind="recapture", plugins="wget", all="yes", q="host:site7.example")
    assert "Capturing a new version of 1 page." in at_once(library, begun)
    newest = re.search(r'href="/crawls/([^"/]+)/"', library.visitor.get("/crawls/").text)
    assert newest
    assert "&quot;wget&quot;" in library.visitor.get(f"/crawls/{newest.group(1)}/?show=settings").text


def test_an_export_is_fetched_by_who_is_logged_in_and_deleted(library_with_workers: Library) -> None:
    library = library_with_workers
    page = ended(library, begin(library, kind="export", format="jsonl", all="yes", q="host:site6.example"))
    path = re.search(r'href="(/jobs/[^"]+/file/)"', page)
    assert path
    file = library.visitor.get(path.group(1))
    assert file.headers["content-disposition"].startswith('attachment; filename="archivebox-')
    assert [json.loads(line)["title"] for line in file.text.splitlines()] == ["Story 6"]
    assert library.stranger().get(path.group(1)).status == 302
    one = path.group(1).removesuffix("file/")
    assert library.visitor.post(one, change="forget").status == 302
    assert library.visitor.get(path.group(1)).status == 404


def test_what_cannot_be_begun_says_why(library: Library) -> None:
    for fields, sentence in [
        ({"kind": "tag", "all": "yes", "q": ""}, "Name one tag"),
        ({"kind": "purge", "all": "yes", "q": ""}, "Choose an action"),
        ({"kind": "verify", "all": "yes", "q": "colour:red"}, "is not a key"),
        ({"kind": "verify"}, "Choose pages"),
    ]:
        answer = begin(library, **fields)
        assert (answer.status, sentence in answer.text) == (422, True)
    tagged = at_once(library, begin(library, kind="tag", tags="a, b", id=library.other))
    assert "Tags added to 1 page." in tagged
    _, _, listed = library.visitor.get("/jobs/").text.partition("<main")
    assert ">#a" not in listed
    assert "Add tags" in listed


def test_a_search_is_kept_renamed_and_deleted_by_its_owner(library: Library) -> None:
    query = "/?q=host%3Asite7.example"
    assert library.visitor.post("/searches/", form_at=query, q="host:site7.example", name="Seven").status == 302
    page = library.visitor.get(query).text
    change = re.search(r'action="(/searches/[^"]+/)"', page)
    assert change
    assert "Seven" in page
    reader = library.stranger()
    reader.log_in("reader", PASSWORD)
    assert "Seven" not in reader.get("/").text
    assert reader.post(change.group(1), form_at="/", do="delete").status == 404
    library.visitor.post(change.group(1), form_at=query, do="rename", name="Number 7")
    assert "Number 7" in library.visitor.get("/").text
    assert library.visitor.post("/searches/", form_at=query, q="colour:red", name="x").status == 302
    assert "is not a key" in library.visitor.get("/").text
    library.visitor.post(change.group(1), form_at=query, do="delete")
    assert "Deleted “" in library.visitor.get("/?q=x").text
    assert "Number 7" not in library.visitor.get("/?q=x").text


def test_a_query_is_completed_and_explained_while_it_is_typed(library: Library) -> None:
    said = json.loads(library.visitor.get("/search/help/?q=host%3Asite7.&at=11").text)
    assert [one["text"] for one in said["suggestions"]] == ["host:site7.example"]
    said = json.loads(library.visitor.get("/search/help/?q=is%3Afailed").text)
    assert said["phrase"] == "pages with at least one failure"
    said = json.loads(library.visitor.get("/search/help/?q=a+or").text)
    assert (said["problem"], said["position"]) == ("A search term is missing behind 'or'.", 4)
    assert library.stranger().get("/search/help/?q=x").status == 302


def test_who_only_reads_sees_jobs_and_failures_begins_none_and_keeps_searches(library: Library) -> None:
    make = "from django.contrib.auth.models import User; User.objects.create_user('viewer', password='a long password')"
    in_collection(library.server.folder, make)
    viewer = library.stranger()
    viewer.log_in("viewer", "a long password")
    assert viewer.get("/jobs/").status == viewer.get("/failures/").status == 200
    assert "Try " not in viewer.get("/failures/").text
    assert "Make it" not in viewer.get("/tags/").text
    assert viewer.post("/jobs/start/", form_at="/", kind="tag", tags="x", all="yes", q="").status == 403
    assert viewer.post("/searches/", form_at="/", q="story", name="Stories").status == 302
    assert "Stories" in viewer.get("/?q=story").text
