"""Whatever address is asked, by whomever: nothing is told of a page that is not there for them."""

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection

from archivebox.accounts.audit import AuditEntry
from archivebox.accounts.roles import Action
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.intake.schedules import put
from archivebox.core.snapshot import Snapshot
from archivebox.core.tag import Tag
from archivebox.core.tags.assign_tags import tag
from archivebox.crawls.crawl import Crawl
from archivebox.crawls.schedule import CrawlSchedule, Template
from archivebox.jobs.models import Job, JobFailure
from archivebox.machine.models import Machine, Process
from archivebox.replay.capability import Capability, Purpose
from archivebox.web.auth.replay_access import folder_opened_by
from archivebox.web.auth.sessions import digest
from tests import factories
from tests.integration.api.conftest import Caller, Make
from tests.integration.api.test_authorisation import ROWS, example
from tests.marks import these_by_default
from tests.status_triggers import arrange

PUBLIC, MEMBERS, PRIVATE = "public", "members", "private"
ASKED_WITH = {
    "": ("q=secret", "q=is:latest", "q=is:failed", "view=table"),
    "api/v1/snapshots": ("q=secret", "q=-secretless", "url={url}"),
    "failures/": ("by=host",),
    "palette/": ("q=secret",),
    "processes/": ("part=running", "type=hook"),
    "search/help/": ("q=host:s", "q=%23s"),
    "tags/": ("name=secret",),
}
"""What lists are asked with, beside nothing."""


@dataclass
class Kept:
    """All that there is of one page: rows of every kind, each of which has its word."""

    word: str
    url: str
    keys: dict[str, str] = field(default_factory=dict)

    def path(self, address: str) -> str:
        """An address of these rows."""
        named = re.sub(r"<(?:\w+:)?(\w+)>", lambda found: self.keys.get(found[1], found[0]), address)
        return example(named).replace("http://example.com/", self.url)


def kept(visibility: str, owner: User, typed: Process) -> Kept:
    one = Kept(f"secret{visibility}", f"https://secret{visibility}.example/")
    crawl = factories.crawl(one.url, user=owner, visibility=visibility, hold=True)
    Crawl.objects.filter(pk=crawl.pk).update(label=one.word)
    page = crawl.snapshot_set.get()
    arrange(Snapshot.objects.filter(pk=page.pk), title=one.word, status="sealed", mime_type="text/html")
    tag([page.pk], [one.word])
    process = Process.objects.create(
        machine=Machine.current(), cmd=["see", one.word], process_type="hook", status="exited",
        snapshot_id=page.pk, crawl_id=crawl.pk, exit_code=1, parent=typed,
    )  # fmt: skip
    result = ArchiveResult.objects.create(
        snapshot=page, plugin="screenshot", hook_name="on_Snapshot__51_screenshot.js", status="failed",
        reason="crashed", output_str=one.word, process=process,
    )  # fmt: skip
    made = Template(urls=[one.url], max_depth=0, tags=[], persona="", config={})
    schedule = CrawlSchedule(schedule="daily", template=made, label=one.word, created_by=owner, visibility=visibility)
    put(schedule)
    job = Job.objects.create(kind="verify", created_by=owner, status="sealed", total=1, query=f"title:{one.word}")
    JobFailure.objects.create(job=job, snapshot_id=page.pk, sentence=f"{one.word} is missing.")
    rows: dict[str, Any] = {"snapshot": page, "other": page, "crawl": crawl, "process": process, "result": result,
                            "schedule": schedule, "tag": Tag.objects.get(name=one.word), "job": job}  # fmt: skip
    one.keys = {f"{name}_id": str(row.pk) for name, row in rows.items()}
    return one


@pytest.fixture
def there(account: Any, settings: Any) -> dict[str, Kept]:
    """A page of each kind, all of one owner; whoever passes by may look at what is public."""
    settings.PUBLIC_INDEX = settings.PUBLIC_SNAPSHOTS = True
    cache.clear()
    owner = account("editor", "owner")
    words = [
        "archivebox",
        "add",
        *(f"https://secret{visibility}.example/" for visibility in (PUBLIC, MEMBERS, PRIVATE)),
    ]
    typed = Process.objects.create(machine=Machine.current(), cmd=words, process_type="cli", status="running")
    return {visibility: kept(visibility, owner, typed) for visibility in (PUBLIC, MEMBERS, PRIVATE)}


ALL_OF_THEM = {PUBLIC, MEMBERS, PRIVATE}
ASKERS: dict[str, tuple[str, tuple[str, ...], set[str]]] = {
    "nobody": ("", (), {PUBLIC}),
    "viewer": ("viewer", (), {PUBLIC, MEMBERS}),
    "editor": ("editor", (), {PUBLIC, MEMBERS}),
    "owner": ("owner", (), ALL_OF_THEM),
    "admin": ("admin", (), ALL_OF_THEM),
    "feed of the owner": ("owner", ("feed",), ALL_OF_THEM),
    "read of an admin": ("admin", ("read",), {PUBLIC, MEMBERS}),
    "admin of an admin": ("admin", ("admin",), ALL_OF_THEM),
}
"""Account, scopes, and what is there for them."""


def asked_of(address: str, there: dict[str, Kept]) -> list[str]:
    """It with the keys of each page, and with each of the questions that lists are asked."""
    questions = ("", *ASKED_WITH.get(address, ()))
    return sorted(
        {
            f"{one.path(address)}?{asked.format(url=one.url)}".rstrip("?")
            for one in there.values()
            for asked in questions
        }
    )


@pytest.mark.parametrize("who", these_by_default(ASKERS, {"nobody", "editor", "feed of the owner"}))
def test_no_address_tells_of_what_is_hidden(who: str, caller: Make, there: dict[str, Kept]) -> None:
    name, scopes, sees = ASKERS[who]
    somebody = caller(name, *scopes) if name else Caller()
    told: dict[str, set[str]] = {visibility: set() for visibility in there}
    for address, row in ROWS.items():
        if "GET" not in row or row["GET"] is None or (scopes and not address.startswith("api/")):
            continue
        for path in asked_of(address, there):
            answer = somebody.ask("GET", path)
            assert answer.status_code < 500, path
            text = (b"".join(answer) if answer.streaming else answer.content).decode("utf-8", "replace")
            for asked in (path.partition("/web/latest/")[2] or path, quote(path, safe="")):
                text = text.replace(asked, "")  # what somebody asked for they know, as it was sent or in another link
            for visibility, one in there.items():
                if one.word in text:
                    told[visibility].add(address)
    assert {visibility for visibility, addresses in told.items() if addresses} == sees, told


def test_what_is_hidden_is_changed_by_nobody(caller: Make, there: dict[str, Kept]) -> None:
    editor, wrong = caller("editor"), []
    for address, row in ROWS.items():
        if not any(f"<{kind}{name}_id>" in address for kind in ("uuid:", "uuidstr:") for name in
                   ("snapshot", "crawl", "schedule", "result", "process", "tag")):  # fmt: skip
            continue
        for method, needed in row.items():
            if method == "GET" or needed is Action.ADMINISTER:
                continue
            answer = editor.ask(method, there[PRIVATE].path(address), {} if address.startswith("api/") else None)
            if answer.status_code not in {404, 410, 422}:
                wrong.append((method, address, answer.status_code))
    assert wrong == []
    page = Snapshot.objects.get(pk=there[PRIVATE].keys["snapshot_id"])
    assert (page.retired_at, page.status) == (None, "sealed")


def test_what_is_hidden_is_no_version_and_not_archived_already(caller: Make, there: dict[str, Kept]) -> None:
    editor, url = caller("editor"), there[PRIVATE].url
    typed = {"urls": url, "depth": 0}
    told = [one.client.post("/add/preview/", typed).content.decode() for one in (editor, caller("owner"))]
    assert ["<b>1</b> already archived" in text for text in told] == [False, True]
    factories.crawl(url, user=editor.user)
    assert [len(caller(who).get(f"/api/v1/snapshots?url={url}")["items"]) for who in ("editor", "owner")] == [1, 2]
    assert "2 versions" not in editor.client.get("/").content.decode()


def test_its_owner_and_administrators_change_who_sees_it_and_nobody_else(caller: Make, there: dict[str, Kept]) -> None:
    owner, editor, one = caller("owner"), caller("editor"), there[MEMBERS]
    page, crawl = (f"/snapshots/{one.keys['snapshot_id']}/", f"/crawls/{one.keys['crawl_id']}/")
    for address in (page, crawl):
        assert editor.client.post(f"{address}visibility/", {"visibility": "private"}).status_code == 403
        asked = editor.ask("PATCH", f"/api/v1{address.rstrip('/')}", {"visibility": "private"})
        assert asked.status_code == 403, asked.content
    owner.client.post(f"{page}visibility/", {"visibility": "private"})
    assert editor.client.get(page).status_code == 404
    assert editor.get(f"/api/v1{crawl.rstrip('/')}")["snapshots"] == {}
    caller("admin").client.post(f"{crawl}visibility/", {"visibility": "public"})
    assert editor.client.get(page).status_code == 200
    shown = owner.ask("PATCH", f"/api/v1{crawl.rstrip('/')}", {"visibility": "private"})
    assert json.loads(shown.content)["visibility"] == "private"
    assert editor.client.get(crawl).status_code == editor.client.get(page).status_code == 404
    done = [entry.detail for entry in AuditEntry.objects.filter(action__endswith=".visibility").order_by("pk")]
    assert done == [{"before": "members", "after": "private"}, {"before": "members", "after": "public"}]


def test_who_sees_many_is_changed_for_those_that_are_ones_own_and_can_be_undone(
    caller: Make, there: dict[str, Kept]
) -> None:
    keys = [one.keys["snapshot_id"] for one in there.values()]
    wanted = {"kind": "visibility", "visibility": "private", "id": keys}
    caller("editor").client.post("/jobs/start/", wanted)
    assert {page.visibility for page in Snapshot.objects.all()} == ALL_OF_THEM
    caller("owner").client.post("/jobs/start/", wanted)
    assert {page.visibility for page in Snapshot.objects.all()} == {PRIVATE}
    job = Job.objects.filter(kind="visibility", created_by__username="owner").get()
    caller("owner").client.post(f"/jobs/{job.pk}/undo/")
    assert {page.url: page.visibility for page in Snapshot.objects.all()} == {
        one.url: visibility for visibility, one in there.items()
    }


def test_a_capability_opens_nothing_from_the_moment_on_that_its_page_is_hidden(
    caller: Make, there: dict[str, Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "close", lambda: None)  # that of the test
    editor, key = caller("editor"), UUID(there[MEMBERS].keys["snapshot_id"])
    right = Capability(key, Purpose.FILES, digest(editor.client.session.session_key or ""))
    assert folder_opened_by(right) is not None
    caller("owner").client.post(f"/snapshots/{key}/visibility/", {"visibility": "private"})
    assert folder_opened_by(right) is None
