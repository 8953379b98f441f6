"""Webhooks are made, changed, switched off and forgotten, by programs and on pages; the secret is shown once."""

import json
import re

import pytest
from django.http import HttpResponse

from archivebox.accounts.models import AuditEntry
from archivebox.webhooks.models import Delivery, Webhook
from tests.integration.api.conftest import Caller, Make
from tests.status_triggers import arrange

URL = "https://example.org/hook"
WANTED = {"url": URL, "events": ["snapshot.sealed", "crawl.finished"], "label": "Mine"}
PATH = "/api/v1/webhooks"


def send(somebody: Caller, path: str, **fields: object) -> HttpResponse:
    answer: HttpResponse = somebody.client.post(path, fields)  # type: ignore[assignment]  # the client's own kind
    return answer


def test_a_webhook_is_made_tried_changed_and_forgotten(caller: Make) -> None:
    viewer = caller("viewer")
    made = viewer.post(PATH, WANTED)
    one = f"{PATH}/{made['id']}"
    assert made["secret"].startswith("whsec_")
    assert "secret" not in viewer.get(one)
    renewed = viewer.post(f"{one}/secret", status=200)["secret"]
    assert renewed not in {made["secret"], json.dumps(viewer.get(PATH))}
    test = viewer.post(f"{one}/test", status=202)
    assert (test["event"], test["message"]["type"], test["status"]) == ("webhook.test", "webhook.test", "queued")
    arrange(Delivery.objects.all(), status="failed", retry_at=None, tries=10)
    again = viewer.post(f"{one}/deliveries/{test['id']}/resend", status=202)
    assert (again["id"], again["status"], again["tries"]) == (test["id"], "queued", 0)
    assert [row["id"] for row in viewer.get(f"{one}/deliveries")["items"]] == [test["id"]]

    changed = json.loads(viewer.ask("PATCH", one, {"events": ["job.finished"], "is_enabled": False}).content)
    assert (changed["events"], changed["is_enabled"], changed["url"]) == (["job.finished"], False, URL)
    assert Delivery.objects.get().retry_at is None, "what waits is held"
    assert "disabled" in viewer.post(f"{one}/test", status=409)["detail"]
    viewer.ask("PATCH", one, {"is_enabled": True})
    assert Delivery.objects.get().retry_at is not None
    assert viewer.ask("DELETE", one).status_code == 204
    assert not Delivery.objects.exists()
    done = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert [action.removeprefix("webhook.") for action in done if action.startswith("webhook.")] == [
        "created", "secret", "test", "resent", "changed", "disabled", "enabled", "removed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"url": "nonsense"}, "Invalid URL"),
        ({"url": "ftp://example.org/"}, "begin with https"),
        ({"url": "https://me:secret@example.org/"}, "password"),
        ({"url": "http://127.0.0.1:9000/"}, "private network"),
        ({"url": "http://router/"}, "private network"),
        ({"query": "is:nonsense("}, ""),
    ],
)
def test_what_cannot_be_registered_is_refused_in_a_sentence(
    wrong: dict[str, object], sentence: str, caller: Make
) -> None:
    answer = caller("editor").post(PATH, {**WANTED, **wrong}, status=422)
    assert sentence in answer["detail"]
    assert "secret@" not in answer["detail"]
    assert not Webhook.objects.exists()


def test_a_private_address_is_for_administrators_where_the_setting_opens_it(caller: Make) -> None:
    private = {**WANTED, "url": "http://127.0.0.1:9000/hook"}
    caller("viewer").post(PATH, private, status=422)
    assert caller("admin").post(PATH, private)["url"] == private["url"]
    assert "private network" in caller("admin").post(PATH, {**WANTED, "url": "http://10.0.0.1/"}, status=422)["detail"]


def test_nobody_sees_or_changes_the_webhooks_of_others_but_an_administrator(caller: Make) -> None:
    made = caller("editor").post(PATH, WANTED)
    viewer = caller("viewer")
    assert viewer.get(PATH)["items"] == []
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/test"), ("POST", "/secret")):
        assert viewer.ask(method, f"{PATH}/{made['id']}{path}", {}).status_code == 404
    assert viewer.client.get(f"/webhooks/{made['id']}/").status_code == 404
    assert caller("admin").get(PATH)["items"][0]["created_by"] == "editor"


FORM = {"url": URL, "events": ["crawl.finished"], "label": "", "query": "#news"}


def test_a_person_makes_tests_changes_and_removes_one(caller: Make) -> None:
    viewer = caller("viewer")
    assert "Add a webhook" in viewer.client.get("/webhooks/").content.decode()
    page = send(viewer, "/webhooks/", **FORM).content.decode()
    one = Webhook.objects.get()
    path = f"/webhooks/{one.pk}/"
    assert one.secret in page
    assert one.secret not in viewer.client.get(path).content.decode()
    assert b"every 1s" not in viewer.client.get(path).content
    send(viewer, f"{path}do/", change="test")
    assert b"every 1s" in viewer.client.get(path).content, "who waits sees what comes of it"
    assert "webhook.test" in viewer.client.get(path).content.decode()
    Delivery.objects.update(tries=1, http_status=500, problem="It answered 500, and should answer 2xx.")
    assert "Send now" in viewer.client.get(path).content.decode()
    send(viewer, f"{path}deliveries/{Delivery.objects.get().pk}/again/")
    send(viewer, f"{path}change/", **{**FORM, "events": ["job.finished"], "label": "Mine"})
    one.refresh_from_db()
    assert (one.label, one.events) == ("Mine", ["job.finished"])
    old = one.secret
    page = send(viewer, f"{path}do/", change="secret").content.decode()
    one.refresh_from_db()
    assert one.secret in page
    assert one.secret != old
    Webhook.objects.update(disabled_at=one.modified_at, problem="For three days it took nothing.")
    assert "For three days it took nothing." in viewer.client.get(path).content.decode()
    send(viewer, f"{path}do/", change="enable")
    assert Webhook.objects.get().is_enabled
    assert send(viewer, f"{path}do/", change="explode").status_code == 404
    send(viewer, f"{path}do/", change="remove")
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [("url", "http://10.0.0.1/", "private network"), ("events", [], "Choose at least one"), ("query", "(", "")],
)
def test_a_form_that_cannot_be_taken_says_so_beside_its_field(
    field: str, value: object, sentence: str, caller: Make
) -> None:
    answer = send(caller("admin"), "/webhooks/", **{**FORM, field: value})
    assert answer.status_code == 422
    assert re.search(rf'id="id_{field}_error">[^<]*{sentence}', answer.content.decode())
    assert not Webhook.objects.exists()
