"""What is archived, through the API: read, added, changed, steered, removed and brought back."""

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.messages.storage.cookie import CookieStorage
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from archivebox.base_models import paging
from archivebox.base_models.visibility import ViewerScope
from archivebox.config.personas import Persona
from archivebox.config.resolve import SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.core.tags.assign_tags import tag
from archivebox.crawls.models import Crawl
from archivebox.export.pages import pages_of
from archivebox.hooks import resolve_settings
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.formats import read_links
from archivebox.machine.host import forget_current_machine
from archivebox.machine.models import Machine, NetworkInterface, Process
from archivebox.web.views.add import AddForm, form, form_of
from tests import factories
from tests.integration.api.conftest import Caller, Make
from tests.status_triggers import arrange
from tests.stored_pages import stored

URLS = [f"https://example.com/{number}" for number in range(7)]


@pytest.fixture
def editor(caller: Make) -> Caller:
    return caller("editor", "write")


def urls_of(page: dict[str, Any]) -> list[str]:
    return [one["url"] for one in page["items"]]


def test_a_list_is_read_page_by_page_and_every_row_comes_once(editor: Caller) -> None:
    factories.crawl(*URLS)
    seen, path = [], "/api/v1/snapshots?limit=3"
    while path:
        page = editor.get(path)
        seen += urls_of(page)
        path = f"/api/v1/snapshots?limit=3&cursor={page['next']}" if page["next"] else ""
    assert seen == URLS[::-1]


def test_a_list_of_what_is_rare_looks_through_a_part_and_goes_on(
    editor: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = ("queued", "failed", "succeeded", "failed", "skipped", "succeeded", "succeeded")
    for snapshot, status in zip(factories.crawl(*URLS).snapshot_set.order_by("pk"), statuses, strict=True):
        ArchiveResult.objects.create(snapshot=snapshot, plugin="title", status=status)
    monkeypatch.setattr(paging, "LOOKED_AT", 3)
    found, cursor = [], ""
    while cursor is not None:
        page = editor.get(f"/api/v1/results?status=failed{cursor}")
        found.append(len(page["items"]))
        cursor = page["next"] and f"&cursor={page['next']}"
    assert found == [1, 1]
    assert [one["status"] for one in editor.get("/api/v1/results?status=queued")["items"]] == ["queued"]


def test_a_list_costs_the_same_queries_however_long_it_is(editor: Caller) -> None:
    factories.crawl(*URLS)
    for snapshot in Snapshot.objects.all():
        tag([snapshot.pk], [snapshot.url[-1]])
        ArchiveResult.objects.create(snapshot=snapshot, plugin="title", status="failed", reason="timeout")
    for path in ("snapshots", "results", "crawls", "tags"):
        editor.get(f"/api/v1/{path}?limit=1")
        counts = []
        for limit in (1, 7):
            with CaptureQueriesContext(connection) as queries:
                editor.get(f"/api/v1/{path}?limit={limit}")
            counts.append(len(queries))
        assert counts[0] == counts[1], path


def test_snapshots_are_chosen_by_state_tag_url_and_crawl(editor: Caller) -> None:
    crawl = factories.crawl(*URLS[:3])
    factories.crawl(URLS[0])
    arrange(Snapshot.objects.filter(url=URLS[1]), status="sealed")
    tag([Snapshot.objects.get(url=URLS[2]).pk], ["News"])
    assert urls_of(editor.get("/api/v1/snapshots?status=sealed")) == [URLS[1]]
    assert urls_of(editor.get("/api/v1/snapshots?tag=news")) == [URLS[2]]
    assert len(editor.get(f"/api/v1/snapshots?url={URLS[0]}")["items"]) == 2
    assert urls_of(editor.get(f"/api/v1/snapshots?crawl={crawl.pk}")) == URLS[2::-1]


def test_snapshots_are_found_by_a_query(editor: Caller, caller: Make) -> None:
    factories.crawl(*URLS)
    Snapshot.objects.filter(url=URLS[3]).update(title="Kestrels", retired_at="2026-01-01T00:00:00Z")
    Snapshot.objects.filter(url=URLS[4]).update(title="Kestrels, too")
    assert urls_of(editor.get("/api/v1/snapshots?q=title:kestrels")) == [URLS[4]]
    assert urls_of(editor.get("/api/v1/snapshots?q=is:removed")) == [URLS[3]]
    assert urls_of(caller("viewer").get("/api/v1/snapshots?q=is:removed")) == []
    wrong = editor.ask("GET", "/api/v1/snapshots?q=(a")
    assert wrong.status_code == 422
    assert b'"position"' in wrong.content


def test_a_crawl_is_made_of_all_its_urls_or_not_at_all(editor: Caller) -> None:
    wrong = editor.post("/api/v1/crawls", {"urls": [URLS[0], "javascript:alert(1)", "http://192.168.0.1/"]}, status=422)
    assert [one["where"] for one in wrong["errors"]] == ["body.urls.1", "body.urls.2"]
    assert not Crawl.objects.exists()
    made = editor.post(
        "/api/v1/crawls", {"urls": URLS, "depth": 1, "tags": ["a b"], "max_urls": 9, "plugins": ["title"]}
    )
    crawl = Crawl.objects.get(pk=made["id"])
    assert (crawl.max_depth, crawl.created_by.username) == (1, "editor")
    assert crawl.config == {"PLUGINS": ["title"], "MAX_URLS": 9}
    assert made["snapshots"] == {"queued": 7}
    assert Snapshot.objects.filter(tags__name="a b").count() == 7


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"urls": []}, "body.urls"),
        ({"urls": ["https://example.com/\x00"]}, "body.urls.0"),
        ({"urls": URLS, "config": {"WGET_BINARY": "/bin/sh"}}, "body.config"),
        ({"urls": URLS, "depth": 101}, "body.depth"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(editor: Caller, body: object, where: str) -> None:
    wrong = editor.post("/api/v1/crawls", body, status=422)
    assert [one["where"] for one in wrong["errors"]] == [where]
    assert ("Unknown field" in wrong["detail"]) is (where == "body.config")
    assert not Crawl.objects.exists()


def test_only_who_administers_names_hosts_of_a_private_network(editor: Caller, caller: Make) -> None:
    body = {"url": "http://10.0.0.1/"}
    assert "private network" in editor.post("/api/v1/snapshots", body, status=422)["detail"]
    assert "private network" in caller("admin", "write").post("/api/v1/snapshots", body, status=422)["detail"]
    assert caller("admin", "admin").post("/api/v1/snapshots", body)["url"] == "http://10.0.0.1/"


def test_the_date_of_a_bookmark_is_kept_shown_and_given_out(editor: Caller, caller: Make) -> None:
    body = {"url": "https://dated.example/", "bookmarked_at": "2023-11-14T23:13:20+01:00"}
    key = editor.post("/api/v1/snapshots", body)["id"]
    assert editor.get(f"/api/v1/snapshots/{key}")["bookmarked_at"] == "2023-11-14T22:13:20Z"
    assert "2023-11-14 22:13" in caller("viewer").client.get(f"/snapshots/{key}/").content.decode()
    (page,) = pages_of(Snapshot.objects.filter(pk=key), ViewerScope(is_whole=True))
    (link,) = read_links(io.BytesIO(jsonl.dumps(page.record())))
    assert link.date == "2023-11-14T22:13:20+00:00"
    assert "body.bookmarked_at" in str(editor.post("/api/v1/snapshots", {**body, "bookmarked_at": "soon"}, status=422))


def test_a_snapshot_gets_another_title_and_other_tags(editor: Caller) -> None:
    snapshot = factories.snapshot()
    tag([snapshot.pk], ["old"])
    answer = editor.ask("PATCH", f"/api/v1/snapshots/{snapshot.pk}", {"title": "New", "tags": ["b", "c"]})
    assert answer.status_code == 200
    shown = editor.get(f"/api/v1/snapshots/{snapshot.pk}")
    assert (shown["title"], sorted(shown["tags"])) == ("New", ["b", "c"])


def test_a_snapshot_is_removed_and_brought_back(editor: Caller) -> None:
    path = f"/api/v1/snapshots/{factories.snapshot().pk}"
    assert editor.ask("DELETE", path).status_code == 204
    assert editor.ask("GET", path).status_code == 404
    assert editor.get("/api/v1/snapshots")["items"] == []
    assert editor.post(f"{path}/restore", status=200)["retired_at"] is None
    assert len(editor.get("/api/v1/snapshots")["items"]) == 1


def test_a_snapshot_is_paused_resumed_cancelled_and_captured_again(editor: Caller) -> None:
    snapshot = factories.snapshot()
    path = f"/api/v1/snapshots/{snapshot.pk}"
    assert editor.post(f"{path}/pause", status=200)["status"] == "paused"
    assert "cannot pause" in editor.post(f"{path}/pause", status=409)["detail"]
    assert editor.post(f"{path}/resume", status=200)["status"] == "queued"
    assert editor.post(f"{path}/cancel", status=200)["status"] == "cancelled"
    again = editor.post(f"{path}/recapture", status=201)
    assert (again["url"], again["status"]) == (snapshot.url, "queued")
    assert again["id"] != str(snapshot.pk)
    assert editor.ask("POST", f"{path}/explode").status_code == 422


def test_a_crawl_is_steered_named_and_removed(editor: Caller) -> None:
    crawl = factories.crawl(*URLS)
    path = f"/api/v1/crawls/{crawl.pk}"
    assert editor.post(f"{path}/pause", status=200)["status"] == "paused"
    assert editor.ask("PATCH", path, {"label": "Named"}).status_code == 200
    assert editor.get(path)["label"] == "Named"
    assert editor.ask("DELETE", path).content == b'{"count": 7}'
    assert editor.get(path)["status"] == "cancelled"
    assert editor.get("/api/v1/snapshots")["items"] == []


def test_what_failed_is_tried_again(editor: Caller) -> None:
    snapshot = factories.snapshot()
    result = ArchiveResult.objects.create(snapshot=snapshot, plugin="title", status="failed", reason="timeout")
    arrange(Snapshot.objects.filter(pk=snapshot.pk), status="sealed", retry_at=None)
    shown = editor.get(f"/api/v1/snapshots/{snapshot.pk}/results")["items"][0]
    assert shown["sentence"].startswith("It exceeded")
    assert editor.post(f"/api/v1/results/{result.pk}/retry", status=200)["status"] == "queued"
    assert Snapshot.objects.get().retry_at is not None


def test_who_may_not_inspect_is_told_no_folder_setting_or_process(caller: Make) -> None:
    viewer = caller("viewer")
    crawl = factories.crawl(config={"TIMEOUT": 5, "PROXY": "http://me:secret@example.com:1"})
    snapshot = crawl.snapshot_set.get()
    process = Process.objects.create(machine=Machine.objects.create(), cmd=["secret"])
    ArchiveResult.objects.create(snapshot=snapshot, plugin="title", status="failed", reason="crashed", process=process)
    shown = viewer.get(f"/api/v1/crawls/{crawl.pk}")
    assert (shown["config"], shown["folder"]) == ({}, None)
    assert viewer.get("/api/v1/snapshots")["items"][0]["folder"] is None
    result = viewer.get("/api/v1/results")["items"][0]
    assert (result["process_id"], result["action"]) == (None, "")
    inspected = caller("editor").get(f"/api/v1/crawls/{crawl.pk}")
    assert inspected["config"] == {"TIMEOUT": 5, "PROXY": "***"}


def test_a_result_names_the_interface_to_who_may_inspect(caller: Make) -> None:
    interface = NetworkInterface.objects.create(machine=Machine.objects.create(), iface="eth0", ip_local="10.0.0.2")
    ArchiveResult.objects.create(snapshot=factories.snapshot(), plugin="wget", status="succeeded", iface=interface)
    for role, expected in (("viewer", ""), ("editor", "eth0 10.0.0.2")):
        assert [one["interface"] for one in caller(role).get("/api/v1/results")["items"]] == [expected]


def test_a_passer_by_is_told_no_name(settings: Any, db: None) -> None:
    del db
    settings.PUBLIC_INDEX = True
    factories.crawl(visibility="public")
    shown = Caller().get("/api/v1/snapshots")["items"][0]
    assert (shown["created_by"], shown["folder"]) == (None, None)


PASSERS_BY_DO_NOT_CHOOSE = [
    ("crawls", {"persona": "work"}, "persona"),
    ("crawls", {"plugins": ["archive_org"]}, "plugins"),
    ("crawls", {"tags": ["news"]}, "tags"),
    ("crawls", {"hold": True}, "hold"),
    ("crawls", {"max_size": 10**9}, "max_size"),
    ("crawls", {"depth": 2}, "1 deep"),
    ("cli/add", {"tags": "news"}, "tags"),
]


@pytest.mark.parametrize(("path", "more", "named"), PASSERS_BY_DO_NOT_CHOOSE)
@pytest.mark.django_db
def test_a_passer_by_chooses_urls_and_a_depth_alone(settings: Any, path: str, more: Any, named: str) -> None:
    settings.PUBLIC_ADD_VIEW, settings.PUBLIC_ADD_DEPTH = True, 1
    body = {"urls": ["https://example.com/"], "depth": 1}
    assert named in Caller().post(f"/api/v1/{path}", {**body, **more}, status=403)["detail"]
    assert not Crawl.objects.exists()


@pytest.mark.django_db
def test_who_may_add_by_the_setting_alone_is_a_passer_by_with_an_account_too(settings: Any, caller: Make) -> None:
    settings.PUBLIC_ADD_VIEW = True
    body = {"urls": ["https://example.com/"], "plugins": ["title"]}
    assert "plugins" in caller("viewer").post("/api/v1/crawls", body, status=403)["detail"]
    assert caller("editor").post("/api/v1/crawls", body)["config"] == {"PLUGINS": ["title"]}


@pytest.mark.usefixtures("work_persona")
def test_what_a_form_of_a_passer_by_sends_beside_urls_and_depth_is_ignored(settings: Any) -> None:
    settings.PUBLIC_ADD_VIEW, settings.PUBLIC_ADD_DEPTH = True, 1
    sent = {"urls": "https://example.com/", "persona": "work", "plugins": "archive_org", "tags": "news", "title": "x"}
    asked = RequestFactory().post("/add/", sent | {"depth": "1"})
    asked.user, asked._messages = AnonymousUser(), CookieStorage(asked)  # type: ignore[attr-defined]  # as Django does
    assert "depth" in form_of(asked, {**sent, "depth": "2"}).errors
    assert form(asked).status_code == 302
    crawl = Crawl.objects.get()
    assert (crawl.max_depth, crawl.persona, crawl.tags_str) == (1, "", "")
    assert "PLUGINS" not in crawl.config
    assert Snapshot.objects.get().title == ""


@pytest.mark.django_db
def test_an_address_adds_so_many_urls_an_hour_without_a_login(settings: Any, caller: Make) -> None:
    settings.PUBLIC_ADD_VIEW, settings.PUBLIC_ADD_PER_HOUR = True, 3
    assert Caller().ask("POST", "/api/v1/crawls", {"urls": URLS[:4]}).status_code == 429
    Caller().post("/api/v1/crawls", {"urls": URLS[:2]})
    refused = Caller().ask("POST", "/api/v1/crawls", {"urls": URLS[2:4]})
    assert (refused.status_code, int(refused["Retry-After"]) > 0) == (429, True)
    asked = RequestFactory().post("/add/", {"urls": "\n".join(URLS[2:4]), "depth": "0"})
    asked.user, asked._messages = AnonymousUser(), CookieStorage(asked)  # type: ignore[attr-defined]  # as Django does
    assert form(asked).status_code == 429
    Caller().post("/api/v1/crawls", {"urls": URLS[2:3]})
    caller("editor").post("/api/v1/crawls", {"urls": URLS})
    assert Crawl.objects.count() == 3


@pytest.fixture
def work_persona(db: None) -> Iterator[Persona]:
    """A persona that is shared with nobody."""
    del db
    persona = Persona(DATA_FOLDER.persona("work"))
    persona.folder.parent.mkdir(parents=True, exist_ok=True)
    persona.create({})
    yield persona
    shutil.rmtree(persona.folder)


def test_only_those_whom_a_persona_is_shared_with_and_administrators_crawl_as_it(
    editor: Caller, caller: Make, work_persona: Persona
) -> None:
    body = {"urls": URLS[:1], "persona": "work"}
    assert "shared with you" in editor.post("/api/v1/crawls", body, status=422)["detail"]
    timed = {**body, "schedule": "daily"}
    assert "shared with you" in editor.post("/api/v1/schedules", timed, status=422)["detail"]
    assert "persona" in _asked_by(editor, "work").errors
    with pytest.raises(SettingError, match="not shared with editor"):
        create_crawl([Seed(URLS[0])], CrawlRequest(persona="work"), created_by=User.objects.get(username="editor"))
    assert caller("admin").post("/api/v1/crawls", body)["persona"] == "work"
    work_persona.share(["editor"])
    assert editor.post("/api/v1/crawls", body)["persona"] == "work"
    assert "persona" not in _asked_by(editor, "work").errors


def test_a_page_captured_again_is_not_visited_as_a_persona_of_somebody_else(
    editor: Caller, caller: Make, work_persona: Persona
) -> None:
    caller("admin").post("/api/v1/crawls", {"urls": URLS[:1], "persona": "work"})
    path = f"/api/v1/snapshots/{Snapshot.objects.get().pk}/recapture"
    editor.post(path)
    work_persona.share(["editor"])
    editor.post(path)
    visited = [resolve_settings(crawl.layers()).get_text("ACTIVE_PERSONA") for crawl in Crawl.objects.order_by("pk")]
    assert visited == ["work", "Default", "work"]


def _asked_by(somebody: Caller, persona: str) -> AddForm:
    asked = RequestFactory().post("/add/", {"urls": "https://example.com/", "depth": "0", "persona": persona})
    assert somebody.user is not None
    asked.user = somebody.user
    return form_of(asked, asked.POST)


@pytest.fixture
def identity(db: None) -> Iterator[None]:
    """What tells sites who somebody is: a persona that holds for all crawls, and settings of this machine."""
    del db
    default = Persona(DATA_FOLDER.persona("Default"))
    default.folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(default.folder, ignore_errors=True)
    default.create({"CHROME_EXTRA_HEADERS": '{"X-Key": "mine"}'})
    default.cookies.write_text("")
    known = {"CHROME_USER_DATA_DIR": "/mine"}
    Machine.objects.filter(pk=Machine.current().pk).update(config=known)
    forget_current_machine()
    yield
    shutil.rmtree(default.folder)


@pytest.mark.usefixtures("identity")
def test_pages_that_a_passer_by_asks_for_are_visited_as_nobody(settings: Any) -> None:
    settings.PUBLIC_ADD_VIEW = True
    Caller().post("/api/v1/crawls", {"urls": ["https://example.com/"]})
    asked = RequestFactory().post("/add/", {"urls": "https://example.com/", "depth": "0"})
    asked.user, asked._messages = AnonymousUser(), CookieStorage(asked)  # type: ignore[attr-defined]  # as Django does
    assert form(asked).status_code == 302
    assert [_told(crawl) for crawl in Crawl.objects.all()] == [("", {}, "", "")] * 2
    cookies = str(DATA_FOLDER.persona("Default") / "cookies.txt")
    known = ("Default", {"X-Key": "mine"}, "/mine", cookies)
    assert _told(factories.crawl()) == known, "all others are visited as ever"


def _told(crawl: Crawl) -> tuple[JSON, ...]:
    """What the hooks of a crawl are told of who somebody is."""
    names = ("ACTIVE_PERSONA", "CHROME_EXTRA_HEADERS", "CHROME_USER_DATA_DIR", "COOKIES_FILE")
    settings = resolve_settings(crawl.layers())
    return tuple(settings.get(name) for name in names)


UNKNOWN = [
    ("GET", "/api/v1/snapshots?statu=sealed", "'status'"),
    ("GET", "/api/v1/jobs?query=x", "There are cursor, limit"),
    ("DELETE", "/api/v1/crawls/{crawl}?url=https://example.com/", "takes none"),
]


@pytest.mark.parametrize(("method", "path", "hint"), UNKNOWN)
def test_a_parameter_that_does_not_exist_is_refused_before_anything_is_done(
    editor: Caller, method: str, path: str, hint: str
) -> None:
    """It may have been meant to choose a few of all."""
    crawl = factories.crawl()
    answer = editor.ask(method, path.format(crawl=crawl.pk), {"urls": URLS})
    assert (answer.status_code, hint in json.loads(answer.content)["detail"]) == (422, True), answer.content
    assert Crawl.objects.get().snapshot_set.kept().count() == 1


def test_an_option_of_a_job_that_does_not_exist_is_refused(editor: Caller) -> None:
    factories.crawl()
    wrong = {"kind": "retry", "query": "", "options": {"plugin": ["wget"]}}
    assert "Did you mean plugins?" in editor.post("/api/v1/jobs", wrong, status=422)["detail"]


def test_a_tag_is_one_whatever_its_case(editor: Caller) -> None:
    made = editor.post("/api/v1/tags", {"name": "News"})
    assert editor.post("/api/v1/tags", {"name": "news"}, status=200)["id"] == made["id"]
    assert "letter" in editor.post("/api/v1/tags", {"name": "?!"}, status=422)["detail"]
    assert editor.ask("DELETE", f"/api/v1/tags/{made['id']}").status_code == 204
    assert editor.get("/api/v1/tags")["items"] == []


def test_a_post_with_a_key_is_done_once_however_often_it_is_sent(editor: Caller, caller: Make) -> None:
    body = {"urls": URLS[:1]}
    first = editor.post("/api/v1/crawls", body, Idempotency_Key="one")
    again = editor.ask("POST", "/api/v1/crawls", body, Idempotency_Key="one")
    assert (again.status_code, again["Idempotency-Replayed"]) == (201, "true")
    assert first["id"].encode() in again.content
    assert Crawl.objects.count() == 1
    assert (
        "another request" in editor.post("/api/v1/crawls", {"urls": URLS}, status=422, Idempotency_Key="one")["detail"]
    )
    other = caller("admin", "write").post("/api/v1/crawls", body, Idempotency_Key="one")
    assert other["id"] != first["id"], "a key is its sender's alone"


def test_what_was_refused_may_be_sent_again_with_its_key(editor: Caller) -> None:
    editor.post("/api/v1/crawls", {"urls": ["ftp://example.com/"]}, status=422, Idempotency_Key="one")
    editor.post("/api/v1/crawls", {"urls": URLS}, Idempotency_Key="one")


def test_a_body_that_is_no_json_is_refused_by_a_sentence_that_says_what_to_send(editor: Caller) -> None:
    answer = editor.client.generic("POST", "/api/v1/crawls", b"{", "application/json")
    assert (answer.status_code, "send JSON" in json.loads(answer.content)["detail"]) == (400, True)


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "cursor=x", "status=lost", "crawl=1"])
def test_a_question_that_makes_no_sense_is_refused(editor: Caller, query: str) -> None:
    answer = editor.ask("GET", f"/api/v1/snapshots?{query}")
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"


def test_a_snapshot_says_what_came_of_it(editor: Caller) -> None:
    rows = factories.crawl(*URLS[:4]).snapshot_set.order_by("pk")
    kept, refused, nothing, _ = (row.pk for row in rows)
    arrange(Snapshot.objects.filter(pk__in=[kept, refused, nothing]), status="sealed", http_status=200)
    one = {"output.html": {"size": 1, "mimetype": "text/html"}}
    ArchiveResult.objects.create(snapshot_id=kept, plugin="dom", status="succeeded", output_files=one)
    ArchiveResult.objects.create(snapshot_id=refused, plugin="dom", status="succeeded", output_files=one)
    ArchiveResult.objects.create(snapshot_id=refused, plugin="chrome", status="failed", reason="login_wall")
    ArchiveResult.objects.create(snapshot_id=nothing, plugin="dom", status="failed", reason="timeout")
    states = ["waiting", "nothing kept", "not archived", "kept"]
    assert [one["state"] for one in editor.get("/api/v1/snapshots")["items"]] == states
    assert editor.get(f"/api/v1/snapshots/{refused}")["state"] == "not archived"


@pytest.mark.usefixtures("collection")
def test_a_file_of_a_store_that_does_not_answer_is_a_503_that_says_when_to_ask(editor: Caller, store: Path) -> None:
    page = stored()
    shutil.rmtree(page.path)
    address = f"/api/v1/snapshots/{page.pk}/files/text/words.txt"
    assert b"".join(editor.ask("GET", address)) == b"one"
    store.rename(store.with_name("aside"))
    answer = editor.ask("GET", address)
    assert (answer.status_code, answer["Retry-After"], json.loads(answer.content)["retry_after"]) == (503, "30", 30)
    assert str(store) not in answer.content.decode()
