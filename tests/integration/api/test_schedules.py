"""Schedules are made, changed, steered and forgotten, by programs and on pages."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from archivebox.crawls import control
from archivebox.crawls.models import Crawl, CrawlSchedule
from tests.integration.api.conftest import Caller, Make

FEED = "https://example.com/feed.xml"
WANTED = {"urls": [FEED], "depth": 1, "schedule": "0 6 * * MON-FRI", "timezone": "Europe/Berlin", "tags": ["news"]}


def make(editor: Caller, **more: object) -> Any:
    return editor.post("/api/v1/schedules", {**WANTED, **more})


def test_a_schedule_is_made_read_changed_and_forgotten(caller: Make) -> None:
    editor = caller("editor", "write")
    made = make(editor, label="News")
    path = f"/api/v1/schedules/{made['id']}"
    assert made["next_at"] is not None
    assert (made["urls"], made["depth"], made["tags"], made["overlap"]) == ([FEED], 1, ["news"], "wait")
    assert caller("viewer").get("/api/v1/schedules")["items"][0]["label"] == "News"
    changed = json.loads(editor.ask("PATCH", path, {"schedule": "every 2d", "recapture": True}).content)
    assert (changed["schedule"], changed["recapture"], changed["label"]) == ("every 2d", True, "News")
    assert changed["next_at"] != made["next_at"]
    assert editor.ask("DELETE", path).status_code == 204
    assert editor.ask("GET", path).status_code == 404


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"schedule": "soon"}, "not a recurring time"),
        ({"timezone": "Mars"}, "not a time zone"),
        ({"urls": [FEED, "nonsense"]}, "Nothing was added"),
        ({"urls": ["http://192.168.7.7/"]}, "private network"),
        ({"persona": "nobody"}, "no persona"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_in_a_sentence(
    wrong: dict[str, object], sentence: str, caller: Make
) -> None:
    answer = caller("editor", "write").post("/api/v1/schedules", {**WANTED, **wrong}, status=422)
    assert sentence in answer["detail"]
    assert not CrawlSchedule.objects.exists()


def test_it_is_paused_resumed_and_run_at_once_but_not_beside_itself(caller: Make) -> None:
    editor = caller("editor", "write")
    path = f"/api/v1/schedules/{make(editor)['id']}"
    assert editor.post(f"{path}/pause", status=200)["next_at"] is None
    assert "cannot pause" in editor.post(f"{path}/pause", status=409)["detail"]
    crawl = editor.post(f"{path}/run")
    assert crawl["urls"] == [FEED]
    assert editor.post(f"{path}/run", status=409)["crawl"] == crawl["id"]
    assert editor.post(f"{path}/resume", status=200)["next_at"] is not None
    made = editor.get(f"/api/v1/crawls?schedule={path.rpartition('/')[2]}")
    assert [one["id"] for one in made["items"]] == [crawl["id"]]


# --- on pages -----------------------------------------------------------------------------------------------------

FORM = {
    "urls": FEED, "depth": "1", "scope": "host", "tags": "news", "persona": "", "label": "",
    "schedule": "daily", "timezone": "Europe/Berlin", "overlap": "wait", "catch_up": "once", "recapture": "",
}  # fmt: skip


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return re.sub(r"\s+", " ", answer.content.decode())


@pytest.mark.usefixtures("db")
def test_a_person_makes_looks_at_changes_and_removes_one(caller: Make) -> None:
    client = caller("editor").client
    assert "No schedules yet" in text(client, "/schedules/")
    assert client.post("/schedules/new/", FORM).status_code == 302
    one = CrawlSchedule.objects.get()
    page = f"/schedules/{one.pk}/"
    assert "At 00:00 every day" in text(client, "/schedules/")
    assert "No crawls yet" in text(client, page)
    assert re.search(r"next</span> <b>\w{3} \d{4}-\d\d-\d\d 00:00</b>", text(client, page))
    form = text(client, f"{page}change/")
    assert 'value="Europe/Berlin"' in form
    assert FEED in form
    CrawlSchedule.objects.update(template={**one.template, "config": {**one.template["config"], "MAX_URLS": 7}})
    assert client.post(f"{page}change/", {**FORM, "schedule": "6h", "label": "News"}).status_code == 302
    one.refresh_from_db()
    assert (one.label, one.schedule) == ("News", "6h")
    assert one.template["config"] == {"URL_SCOPE": "host", "MAX_URLS": 7}, "what the form does not name stays"
    client.post(f"{page}do/", {"change": "remove"})
    assert not CrawlSchedule.objects.exists()


@pytest.mark.usefixtures("db")
def test_a_page_says_why_there_is_no_crawl_now(caller: Make) -> None:
    client = caller("editor").client
    client.post("/schedules/new/", FORM)
    page = f"/schedules/{CrawlSchedule.objects.get().pk}/"
    client.post(f"{page}do/", {"change": "run"})
    client.post(f"{page}do/", {"change": "run"})
    assert "Its last crawl has not ended" in text(client, page)
    assert "Run now" not in text(client, page)
    CrawlSchedule.objects.update(is_waiting=True, skipped_for="missed", skipped_at="2026-01-31T12:00Z")
    waiting = text(client, page)
    assert "It starts when" in waiting
    assert "was skipped: nothing was running here at that time" in waiting
    CrawlSchedule.objects.update(is_waiting=False, timezone="Gone/Away")
    assert "not a time zone" in text(client, page)
    client.post(f"{page}do/", {"change": "pause"})
    assert "until it is resumed" in text(client, page)
    control.cancel(Crawl.objects.get())
    client.post(f"{page}do/", {"change": "resume"})
    assert "not a time zone" in text(client, "/schedules/")
    assert client.post(f"{page}do/", {"change": "explode"}).status_code == 404


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("schedule", "soon", "not a recurring time"),
        ("urls", "http://192.168.7.7/", "private network"),
    ],
)
def test_a_form_that_cannot_be_taken_says_so_beside_its_field(
    field: str, value: str, sentence: str, caller: Make
) -> None:
    answer = caller("editor").client.post("/schedules/new/", {**FORM, field: value})
    assert answer.status_code == 422
    assert re.search(rf'id="id_{field}_error">[^<]*{sentence}', answer.content.decode())
    assert not CrawlSchedule.objects.exists()


@pytest.mark.usefixtures("db")
def test_who_only_reads_is_offered_no_change(caller: Make) -> None:
    caller("editor").client.post("/schedules/new/", FORM)
    page = text(caller("viewer").client, f"/schedules/{CrawlSchedule.objects.get().pk}/")
    assert "Run now" not in page
    assert "schedule-do" not in page
