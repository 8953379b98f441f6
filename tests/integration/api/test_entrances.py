"""Whatever the entrance: the same request makes the same rows, what is wrong with one is said in the same words."""

import html
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.messages.storage.cookie import CookieStorage
from django.test import RequestFactory

from archivebox.accounts import tokens
from archivebox.cli import add as cli_add
from archivebox.cli import schedule as cli_schedule
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Output
from archivebox.cli.run import accept_records
from archivebox.cli.selection import StdinRecord
from archivebox.cli.session import Session
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import Record
from archivebox.core.intake import schedules, submit
from archivebox.core.intake.add_urls import add_found_urls
from archivebox.core.intake.recapture import recapture
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl, CrawlSchedule
from archivebox.hooks.records import process_hook_records
from archivebox.jobs.begin import JobRequest, begin
from archivebox.jobs.importing import Imported
from archivebox.jobs.models import Job
from archivebox.lib.egress import Endpoint
from archivebox.machine.models import Process
from archivebox.web.views.add import form as add_form
from archivebox.workers.egress.policies import is_named
from tests.integration.api.conftest import Caller, Make
from tests.integration.api.test_mcp import call
from tests.integration.api.test_saved_pages import send as send_saved
from tests.job_runner import carried_out

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]
URLS = ["https://a.example/", "https://b.example/x?y"]
FORM = {"timezone": "UTC", "schedule": "daily", "overlap": "wait", "catch_up": "once"}


class Request:
    """What somebody asks for, in words that every entrance knows, or most."""

    def __init__(self, urls: list[str], *, depth: int = 0, is_full: bool = False, plugins: Sequence[str] = ()) -> None:
        self.urls = urls
        self.depth = depth
        self.is_full = is_full
        """With tags, plugins, a scope, for whom it is, and that only what changed is kept."""
        self.plugins = list(plugins) or (["title"] if is_full else [])

    @property
    def tags(self) -> list[str]:
        return ["news", "two words"] if self.is_full else []

    def form(self) -> dict[str, Any]:
        full = {"scope": "domain", "visibility": "private", "again": "changed", "unchanged": "look"}
        chosen = {"depth": self.depth, "tags": ",".join(self.tags), "plugins": self.plugins}
        return {"urls": "\n".join(self.urls), **chosen, **(full if self.is_full else {})}

    def json(self) -> dict[str, Any]:
        full = {"scope": "domain", "visibility": "private", "keep_unchanged": False}
        chosen = {"depth": self.depth, "tags": self.tags, "plugins": self.plugins}
        return {"urls": self.urls, **chosen, **(full if self.is_full else {})}

    def options(self) -> dict[str, Any]:
        config = ("URL_SCOPE=domain",) if self.is_full else ()
        return {
            "urls": tuple(self.urls), "depth": self.depth, "tag": (",".join(self.tags),), "config": config,
            "plugins": ",".join(self.plugins), "if_changed": self.is_full, "persona": None, "label": "",
        }  # fmt: skip


Answer = tuple[bool, str]
"""Whether it was accepted, and all that was said."""
Entrance = Callable[[Request, Caller], Answer]


def session() -> Session:
    return Session(Output(json=True), DATA_FOLDER, Process.current())


def said(command: Callable[[], object]) -> Answer:
    try:
        command()
    except BadInputError as error:
        return False, str(error)
    return True, ""


def by_cli(request: Request, _caller: Caller) -> Answer:
    more: dict[str, Any] = {
        "file": (),
        "parser": "auto",
        "bg": True,
        "update": False,
        "overwrite": False,
        "index_only": False,
        "only_new": False,
    }
    visibility = "private" if request.is_full else None
    return said(lambda: cli_add.run(session(), **request.options(), **more, visibility=visibility))


def by_cli_schedule(request: Request, _caller: Caller) -> Answer:
    more: dict[str, Any] = {
        "every": "daily",
        "timezone": "UTC",
        "overlap": "wait",
        "catch_up": "once",
        "recapture": False,
    }
    return run_schedules(said(lambda: cli_schedule.add(session(), **request.options(), **more)), request)


def run_schedules(answer: Answer, request: Request) -> Answer:
    """A crawl of each; for whom it is was not asked at the command line."""
    if request.is_full:
        CrawlSchedule.objects.update(visibility="private")
    for schedule in CrawlSchedule.objects.all():
        schedules.run_now(schedule)
    return answer


def by_records(request: Request, _caller: Caller) -> Answer:
    records = [StdinRecord(line, "Snapshot", {"url": url}) for line, url in enumerate(request.urls, 1)]
    return said(lambda: accept_records(session(), records))


def answered(answer: Any) -> Answer:
    return answer.status_code < 400, html.unescape(answer.content.decode())


def by_api(request: Request, caller: Caller) -> Answer:
    return answered(caller.ask("POST", "/api/v1/crawls", request.json()))


def by_api_snapshot(request: Request, caller: Caller) -> Answer:
    return answered(caller.ask("POST", "/api/v1/snapshots", {"url": request.urls[0]}))


def by_api_schedule(request: Request, caller: Caller) -> Answer:
    return run_schedules(
        answered(caller.ask("POST", "/api/v1/schedules", {**request.json(), "schedule": "daily"})), request
    )


def by_extension(request: Request, caller: Caller) -> Answer:
    body = {"urls": request.urls, "depth": request.depth}
    return answered(caller.ask("POST", "/api/v1/cli/add", body))


def by_form(request: Request, caller: Caller) -> Answer:
    if caller.user is not None:
        return answered(caller.client.post("/add/", request.form()))
    asked = RequestFactory().post("/add/", request.form())
    asked.user, asked._messages = AnonymousUser(), CookieStorage(asked)  # type: ignore[attr-defined]  # as Django does
    return answered(add_form(asked))


def by_web_schedule(request: Request, caller: Caller) -> Answer:
    return run_schedules(answered(caller.client.post("/schedules/new/", {**FORM, **request.form()})), request)


def by_import(request: Request, caller: Caller) -> Answer:
    """A list is read, whose valid lines are added; the others are in a file."""
    given = answered(caller.client.post("/import/", {"urls": "\n".join(request.urls)}))
    for job in Job.objects.all():
        refused = Imported(job.pk).refused.read_text()
        if caller.client.post(f"/import/{job.pk}/", request.form()).status_code == 302:
            carried_out(Job.objects.get(pk=job.pk))
        return Crawl.objects.exists(), refused
    return given


def by_recapture(request: Request, caller: Caller) -> Answer:
    return captured_again(by_api(request, caller), recapture_at_once)


def by_recapture_job(request: Request, caller: Caller) -> Answer:
    return captured_again(by_api(request, caller), recapture_by_job)


def recapture_at_once(user: User) -> None:
    recapture(Snapshot.objects.all(), created_by=user, may_name_private=user.is_superuser)


def recapture_by_job(user: User) -> None:
    keys = list(Snapshot.objects.values_list("pk", flat=True))
    request = JobRequest(Job.Kind.RECAPTURE, created_by=user, snapshots=keys, options={"plugins": []})
    carried_out(begin(request))


def captured_again(answer: Answer, again: Callable[[User], None]) -> Answer:
    """What comes of a second capture, without the crawl that was first."""
    for first in Crawl.objects.all():
        again(first.created_by)
        first.delete()
    return answer


def by_assistant(request: Request, _caller: Caller) -> Answer:
    answer = call("add", urls=request.urls, depth=request.depth)
    return (False, answer) if isinstance(answer, str) else (True, "")


FULL = [by_cli, by_cli_schedule, by_api, by_api_schedule, by_form, by_web_schedule, by_import]
SIMPLE = [*FULL, by_records, by_extension, by_assistant, by_recapture, by_recapture_job]
REMOTE = [by_api, by_api_schedule, by_api_snapshot, by_extension, by_form, by_web_schedule, by_import, by_assistant]


def made() -> dict[str, Any]:
    """The rows, but for whose they are and what they are called."""
    names = ("max_depth", "tags_str", "persona", "config", "visibility", "urls", "status")
    (crawl,) = Crawl.objects.values(*names)
    columns = ("url", "depth", "title", "visibility", "config", "status", "domain", "retired_at")
    pages = list(Snapshot.objects.order_by("url").values(*columns))
    tags = {tuple(sorted(tag.name for tag in page.tags.all())) for page in Snapshot.objects.all()}
    return {**crawl, "pages": pages, "tags": tags}


def expected(*, is_full: bool) -> dict[str, Any]:
    config = {"URL_SCOPE": "domain", "PLUGINS": ["title"], "KEEP_UNCHANGED": False} if is_full else {}
    seen_by = "private" if is_full else "members"
    pages: list[dict[str, Any]] = [
        {"url": url, "depth": 0, "title": "", "visibility": seen_by, "config": {}, "status": "queued",
         "domain": url.split("/")[2], "retired_at": None}
        for url in URLS
    ]  # fmt: skip
    return {
        "max_depth": 1 if is_full else 0, "tags_str": "news,two words" if is_full else "", "persona": "",
        "config": config, "visibility": seen_by, "urls": "\n".join(URLS), "status": "queued", "pages": pages,
        "tags": {("news", "two words")} if is_full else {()},
    }  # fmt: skip


@pytest.fixture
def editor(caller: Make) -> Caller:
    return caller("editor")


@pytest.mark.parametrize("entrance", SIMPLE)
def test_the_same_urls_make_the_same_rows(entrance: Entrance, editor: Caller) -> None:
    accepted, answer = entrance(Request(URLS), editor)
    assert accepted, answer
    assert made() == expected(is_full=False)


@pytest.mark.parametrize("entrance", FULL)
def test_the_same_choices_make_the_same_rows(entrance: Entrance, editor: Caller) -> None:
    accepted, answer = entrance(Request(URLS, depth=1, is_full=True), editor)
    assert accepted, answer
    assert made() == expected(is_full=True)


class LinkedRequest(Request):
    """Asks that unchanged versions have the files of the version before."""

    def form(self) -> dict[str, Any]:
        return {**super().form(), "unchanged": "linked"}

    def json(self) -> dict[str, Any]:
        return {**super().json(), "keep_unchanged": "linked"}

    def options(self) -> dict[str, Any]:
        return {**super().options(), "config": ("KEEP_UNCHANGED=linked",)}


@pytest.mark.parametrize("entrance", [by_cli, by_cli_schedule, by_api, by_api_schedule, by_web_schedule])
def test_unchanged_versions_are_linked_where_somebody_asks_for_it(entrance: Entrance, editor: Caller) -> None:
    accepted, answer = entrance(LinkedRequest(URLS), editor)
    assert accepted, answer
    assert made()["config"] == {"KEEP_UNCHANGED": "linked"}
    for schedule in CrawlSchedule.objects.all():
        assert "unchanged pages share files" in editor.client.get(f"/schedules/{schedule.pk}/").content.decode()
        assert 'value="linked" selected' in editor.client.get(f"/schedules/{schedule.pk}/change/").content.decode()


BAD_URLS = {
    "ftp://example.com/x": "ftp URLs are not archived",
    "https://user:secret@example.com/": "user name or password",
}


@pytest.mark.parametrize("entrance", [*SIMPLE, by_api_snapshot])
@pytest.mark.parametrize("url", BAD_URLS)
def test_the_same_bad_url_is_refused_in_the_same_words(entrance: Entrance, url: str, editor: Caller) -> None:
    accepted, answer = entrance(Request([url]), editor)
    assert (accepted, BAD_URLS[url] in answer) == (False, True), answer
    assert not Snapshot.objects.exists()


@pytest.mark.parametrize("entrance", REMOTE)
def test_no_entrance_from_outside_reaches_a_private_network(entrance: Entrance, editor: Caller) -> None:
    accepted, answer = entrance(Request(["http://10.0.0.5/"]), editor)
    assert (accepted, "private network" in answer) == (False, True), answer
    assert not Snapshot.objects.exists()


PRIVATE = "http://10.0.0.5/"


def uploaded(caller: Caller) -> Snapshot:
    """A page that somebody's browser saved, and says to be of a private place."""
    assert caller.user is not None
    token = tokens.issue(caller.user, "browser", ["add"])[1]
    assert send_saved(Caller(caller.user, token), url=PRIVATE).status_code == 201
    return Snapshot.objects.get()


def by_upload(_request: Request, caller: Caller) -> Answer:
    uploaded(caller)
    return True, ""


def by_upload_captured_on_the_web(_request: Request, caller: Caller) -> Answer:
    return answered(caller.client.post(f"/snapshots/{uploaded(caller).pk}/capture/"))


def by_upload_captured_by_api(_request: Request, caller: Caller) -> Answer:
    return answered(caller.ask("POST", f"/api/v1/snapshots/{uploaded(caller).pk}/recapture"))


def by_upload_captured_by_job(_request: Request, caller: Caller) -> Answer:
    uploaded(caller)
    assert caller.user is not None
    recapture_by_job(caller.user)
    return True, ""


def by_crawl_of_an_administrator(request: Request, caller: Caller) -> Answer:
    """It is captured again by somebody else."""
    by_cli(request, caller)
    first = Crawl.objects.get()
    answer = answered(caller.client.post(f"/snapshots/{Snapshot.objects.get().pk}/capture/"))
    first.delete()
    return answer


def by_retry(_request: Request, caller: Caller) -> Answer:
    return answered(caller.ask("POST", f"/api/v1/snapshots/{uploaded(caller).pk}/retry"))


def by_restore(_request: Request, caller: Caller) -> Answer:
    page = uploaded(caller)
    caller.client.post(f"/snapshots/{page.pk}/remove/")
    return answered(caller.client.post(f"/snapshots/{page.pk}/restore/"))


def by_hook(_request: Request, caller: Caller) -> Answer:
    """A page says that there is no link between it and a private place."""
    by_api(Request(["https://a.example/"], depth=2), caller)
    page = Snapshot.objects.get()
    add_found_urls(page, [{"url": PRIVATE, "depth": 0}])
    process_hook_records([Record("Snapshot", {"url": PRIVATE, "depth": 0})], {"snapshot": page, "crawl": page.crawl})
    return True, ""


OF_THE_OPERATOR = [by_cli, by_cli_schedule, by_records]
ADMINISTRATORS = [
    by_api, by_api_snapshot, by_api_schedule, by_extension, by_form, by_web_schedule, by_import, by_recapture,
    by_recapture_job, by_upload_captured_on_the_web, by_upload_captured_by_api, by_upload_captured_by_job,
    by_crawl_of_an_administrator,
]  # fmt: skip
NOBODYS = [by_assistant, by_upload, by_retry, by_restore, by_hook]


@pytest.mark.parametrize("role", ["admin", "editor"])
@pytest.mark.parametrize("maker", [*OF_THE_OPERATOR, *ADMINISTRATORS, *NOBODYS])
def test_a_private_place_is_reached_for_who_may_name_it_alone(maker: Entrance, role: str, caller: Make) -> None:
    said = maker(Request([PRIVATE]), caller(role))
    reached = any(is_named(crawl.pk, Endpoint("10.0.0.5", 80)) for crawl in Crawl.objects.all())
    assert reached == (maker in OF_THE_OPERATOR or (maker in ADMINISTRATORS and role == "admin")), said


@pytest.mark.parametrize("entrance", [by_cli, by_cli_schedule, by_api, by_api_schedule])
def test_the_same_unknown_plugin_is_refused_in_the_same_words(entrance: Entrance, editor: Caller) -> None:
    accepted, answer = entrance(Request(URLS, plugins=["wgett"]), editor)
    assert (accepted, "There is no plugin 'wgett'. Did you mean wget?" in answer) == (False, True), answer
    assert not Snapshot.objects.exists()


@pytest.mark.parametrize("entrance", [by_cli, by_cli_schedule, by_api, by_api_schedule, by_extension, by_assistant])
@pytest.mark.parametrize("depth", [101, -1])
def test_the_same_depth_is_too_deep_for_all(entrance: Entrance, depth: int, editor: Caller) -> None:
    accepted, answer = entrance(Request(URLS, depth=depth), editor)
    assert (accepted, "deep at most." in answer or "depth is a number" in answer) == (False, True), answer
    assert not Snapshot.objects.exists()


@pytest.mark.parametrize("entrance", [by_api, by_api_schedule, by_extension, by_form, by_web_schedule, by_assistant])
def test_the_same_number_of_urls_is_too_many(
    entrance: Entrance, editor: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("archivebox.accounts.permission.MAX_URLS_AT_ONCE", 100)
    accepted, answer = entrance(Request([f"https://example.com/{number}" for number in range(101)]), editor)
    assert (accepted, "more than 100 URLs: split the list" in answer) == (False, True), answer
    assert not Snapshot.objects.exists()


VISITORS = [by_api, by_api_snapshot, by_extension, by_form]


@pytest.fixture
def visitor(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """Somebody without an account, whose address has added nothing yet."""
    monkeypatch.setattr(submit, "_added", {})
    settings.PUBLIC_ADD_VIEW, settings.PUBLIC_ADD_DEPTH, settings.PUBLIC_ADD_PER_HOUR = True, 1, 2
    return Caller()


@pytest.mark.parametrize("entrance", VISITORS)
def test_a_visitor_adds_so_many_urls_an_hour_by_all_entrances_together(entrance: Entrance, visitor: Caller) -> None:
    assert by_api(Request(URLS), visitor)[0]
    accepted, answer = entrance(Request(["https://c.example/"]), visitor)
    assert (accepted, "One address adds at most 2 URLs an hour" in answer) == (False, True), answer
    assert {page.url for page in Snapshot.objects.all()} == set(URLS)


@pytest.mark.parametrize("entrance", [by_api, by_extension, by_form])
def test_a_visitor_follows_links_as_deep_as_is_set(entrance: Entrance, visitor: Caller) -> None:
    assert not entrance(Request(URLS, depth=2), visitor)[0]
    assert not Crawl.objects.exists()
    assert entrance(Request(URLS, depth=1), visitor)[0]
    crawl = Crawl.objects.get()
    assert (crawl.max_depth, crawl.config["ACTIVE_PERSONA"], crawl.created_by.username) == (1, "", "system")


def test_a_visitors_list_says_nothing_of_its_pages_but_their_urls(visitor: Caller) -> None:
    bookmarks = '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DT><A HREF="https://a.example/" TAGS="x">T</A>'
    assert by_form(Request([bookmarks]), visitor)[0]
    page = Snapshot.objects.get()
    assert (page.url, page.title, page.tags.count()) == ("https://a.example/", "", 0)
