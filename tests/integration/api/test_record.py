"""Who changed what, when and from where: put on record, shown to administrators, forgotten in time."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from archivebox.accounts import audit
from archivebox.accounts.models import AuditEntry
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.models import Snapshot, Tag
from archivebox.crawls.models import Crawl
from archivebox.jobs.models import Job
from archivebox.webhooks.models import Webhook
from tests.integration.api.conftest import Make
from tests.integration.api.test_account_pages import send

PASSWORD = "correct horse battery"


def told(**wanted: object) -> list[tuple[str, str, str, Any]]:
    rows = AuditEntry.objects.filter(**wanted).order_by("pk")
    return [(row.username, row.address, row.action, row.detail) for row in rows]


@pytest.mark.django_db
def test_who_comes_in_and_who_leaves_is_on_record_with_the_address() -> None:
    User.objects.create_user("reader", password=PASSWORD)
    somebody = Client(REMOTE_ADDR="192.0.2.7")
    somebody.post("/login/", {"username": "reader", "password": PASSWORD})
    somebody.post("/logout/")
    assert told() == [("reader", "192.0.2.7", "user.login", {}), ("reader", "192.0.2.7", "user.logout", {})]


@pytest.mark.django_db
def test_guessing_is_on_record_once_a_burst_and_no_name_that_may_be_a_password() -> None:
    User.objects.create_user("reader", password=PASSWORD)
    for name in ("Reader", "hunter2 hunter2"):
        for number in range(8):
            Client(REMOTE_ADDR="192.0.2.8").post("/login/", {"username": name, "password": str(number)})
    expected = [("", "192.0.2.8", "login.refused", {"username": known}) for known in ("reader", "unknown")]
    assert told() == expected


def test_what_people_do_on_pages_is_on_record(caller: Make) -> None:
    editor = caller("editor")
    assert editor.user is not None
    crawl = create_crawl([Seed("http://example.com/a")], CrawlRequest(hold=True), created_by=editor.user)
    snapshot = crawl.snapshot_set.get()
    AuditEntry.objects.all().delete()
    for path, fields in (
        (f"/snapshots/{snapshot.pk}/remove/", {}),
        (f"/snapshots/{snapshot.pk}/restore/", {}),
        (f"/snapshots/{snapshot.pk}/tags/", {"tags": "news"}),
        (f"/crawls/{crawl.pk}/limits/", {"max_depth": "2", "max_urls": "9"}),
        (f"/crawls/{crawl.pk}/do/", {"change": "cancel"}),
        ("/tags/", {"name": "essays"}),
        ("/jobs/start/", {"kind": "tag", "tags": "old", "id": str(snapshot.pk)}),
        ("/password/", {"new_password1": PASSWORD, "new_password2": PASSWORD}),
    ):
        assert send(editor, path, **fields).status_code == 302, path
    assert [(action, detail) for _, _, action, detail in told(username="editor", address="127.0.0.1")] == [
        ("snapshot.removed", {"url": "http://example.com/a"}),
        ("snapshot.restored", {"url": "http://example.com/a"}),
        ("snapshot.changed", {"tags": ["news"]}),
        ("crawl.changed", {"max_depth": 2, "max_urls": 9, "max_size": None}),
        ("crawl.cancel", {}),
        ("tag.created", {"name": "essays"}),
        ("job.tag", {"query": None, "snapshots": 1}),
        ("user.password", {}),
    ]


def test_what_cannot_be_put_on_record_is_not_done(caller: Make) -> None:
    editor, viewer = caller("editor"), caller("viewer")
    crawl = create_crawl([Seed("http://example.com/a")], created_by=User.objects.get(username="editor"))
    snapshot = crawl.snapshot_set.get()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_auditentry RENAME TO out_of_reach")
    for somebody, method, path, body in (
        (editor, "POST", f"crawls/{crawl.pk}/pause", {}),
        (editor, "DELETE", f"crawls/{crawl.pk}", None),
        (editor, "DELETE", f"snapshots/{snapshot.pk}", None),
        (editor, "POST", f"snapshots/{snapshot.pk}/recapture", {}),
        (editor, "POST", "jobs", {"kind": "tag", "options": {"tags": ["x"]}, "snapshots": [str(snapshot.pk)]}),
        (editor, "POST", "tags", {"name": "x"}),
        (viewer, "POST", "webhooks", {"url": "https://example.org/", "events": ["job.finished"]}),
    ):
        assert somebody.ask(method, f"/api/v1/{path}", body).status_code == 500, path
    for path, fields in (
        (f"/snapshots/{snapshot.pk}/tags/", {"tags": "news"}),
        (f"/snapshots/{snapshot.pk}/remove/", {}),
        (f"/crawls/{crawl.pk}/do/", {"change": "discard"}),
        (f"/crawls/{crawl.pk}/limits/", {"max_depth": "2"}),
        ("/add/", {"urls": "http://example.com/b", "depth": "0", "scope": "all"}),
    ):
        assert send(editor, path, **fields).status_code == 500, path
    known, now = (crawl.status, crawl.max_depth), Crawl.objects.get()
    assert (now.status, now.max_depth) == known
    assert Snapshot.objects.get().retired_at is None
    assert not any(model.objects.exists() for model in (Tag, Job, Webhook))


def test_the_page_and_the_api_say_from_where(caller: Make) -> None:
    admin = caller("admin")
    send(admin, "/tags/", name="news")
    audit.record(None, "token.created")
    page = admin.client.get("/people/record/").content.decode()
    assert "command line" in page
    assert "127.0.0.1" in page
    assert json.loads(admin.client.get("/api/v1/audit").content)["items"][1]["address"] == "127.0.0.1"


@pytest.mark.django_db
@pytest.mark.parametrize(("days", "left"), [("30", 1), ("0", 2)])
def test_what_is_older_than_the_setting_says_is_forgotten(
    days: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_RETENTION_DAYS", days)
    moment = timezone.now() - timedelta(days=31)
    AuditEntry.objects.create(pk=UUID(int=int(moment.timestamp() * 1000) << 80), action="user.login")
    audit.record(None, "token.created")
    assert AuditEntry.objects.count() == left
