"""Accounts and tokens: who comes in, with what, and until when; and the record of it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts import people, tokens
from archivebox.accounts.login_links import redeem_login_link
from archivebox.accounts.models import Account, Answer, AuditEntry, Token
from archivebox.accounts.roles import Role, role_of
from tests.integration.api.conftest import Caller, Make


def test_a_token_is_shown_once_and_kept_as_a_digest(caller: Make) -> None:
    viewer = caller("viewer")
    made = viewer.post("/api/v1/tokens", {"label": "phone", "scopes": ["read"], "days": 7})
    row = Token.objects.get()
    assert made["token"].startswith("abx_")
    assert made["token"] not in str(row.__dict__)
    assert "token" not in viewer.get(f"/api/v1/tokens/{row.pk}")
    assert row.expires_at is not None
    assert timedelta(days=6) < row.expires_at - timezone.now() <= timedelta(days=7)
    assert Caller(token=made["token"]).get("/api/v1/users/me")["username"] == "viewer"
    assert Token.objects.get().last_used_at is not None


def test_what_is_shown_once_is_not_kept_for_a_request_that_is_sent_twice(caller: Make) -> None:
    admin = caller("admin")
    for path, body, secret in (
        ("tokens", {"label": "phone"}, "token"),
        ("users", {"username": "new"}, "link"),
        ("webhooks", {"url": "https://example.org/", "events": ["job.finished"]}, "secret"),
    ):
        shown = admin.post(f"/api/v1/{path}", body, Idempotency_Key="one")[secret]
        assert "shown only once" in admin.post(f"/api/v1/{path}", body, status=409, Idempotency_Key="one")["detail"]
        assert shown not in {answer.body for answer in Answer.objects.all()}
        assert not Answer.objects.exclude(body="").exists()
    assert (Token.objects.count(), User.objects.filter(username="new").count()) == (1, 1)


@pytest.mark.parametrize("end", ["revoked", "expired", "disabled", "deleted"])
def test_a_token_ends(end: str, caller: Make) -> None:
    user = caller("viewer").user
    assert user is not None
    token, text = tokens.issue(user, "x", ["read"])
    holder = Caller(token=text)
    assert holder.ask("GET", "/api/v1/snapshots").status_code == 200
    if end == "revoked":
        assert caller("viewer").ask("DELETE", f"/api/v1/tokens/{token.pk}").status_code == 204
    elif end == "expired":
        Token.objects.update(expires_at=timezone.now())
    elif end == "disabled":
        people.disable(user, user)
    else:
        user.delete()
    assert holder.ask("GET", "/api/v1/snapshots").status_code == 401


def test_nobody_sees_or_revokes_the_tokens_of_others_but_an_administrator(caller: Make) -> None:
    made = caller("editor").post("/api/v1/tokens", {"label": "mine"})
    viewer = caller("viewer")
    assert viewer.get("/api/v1/tokens")["items"] == []
    assert viewer.ask("DELETE", f"/api/v1/tokens/{made['id']}").status_code == 404
    assert caller("admin").ask("DELETE", f"/api/v1/tokens/{made['id']}").status_code == 204


def test_an_account_is_invited_by_a_link_that_works_once(caller: Make) -> None:
    admin = caller("admin", "admin")
    made = admin.post("/api/v1/users", {"username": "new@example.org", "role": "editor"})
    user = User.objects.get(pk=made["id"])
    assert (role_of(user), user.has_usable_password()) == (Role.EDITOR, False)
    secret = made["link"].rstrip("/").rpartition("/")[2]
    assert redeem_login_link(secret) == user.pk
    assert redeem_login_link(secret) is None
    assert "already" in admin.post("/api/v1/users", {"username": "new@example.org"}, status=422)["detail"]
    assert "letters" in admin.post("/api/v1/users", {"username": "<b>"}, status=422)["detail"]


def test_a_role_changes_what_an_account_may_do_at_once(caller: Make) -> None:
    editor, admin = caller("editor"), caller("admin")
    path = f"/api/v1/users/{editor.user.pk if editor.user else 0}"
    assert admin.ask("PATCH", path, {"role": "viewer"}).status_code == 200
    assert editor.ask("POST", "/api/v1/tags", {"name": "x"}).status_code == 403
    assert admin.ask("PATCH", path, {"role": "admin"}).status_code == 200
    assert editor.ask("GET", "/api/v1/users").status_code == 200
    assert admin.ask("PATCH", path, {"is_active": False}).status_code == 200
    assert editor.ask("GET", "/api/v1/snapshots").status_code == 401


def test_the_last_administrator_stays(caller: Make) -> None:
    admin = caller("admin")
    path = f"/api/v1/users/{admin.user.pk if admin.user else 0}"
    for body in ({"role": "viewer"}, {"is_active": False}):
        answer = admin.ask("PATCH", path, body)
        assert answer.status_code == 422
        assert b"another account an admin first" in answer.content
    assert User.objects.get(username="admin").is_superuser


@pytest.mark.django_db
def test_an_account_without_a_role_is_a_viewer() -> None:
    assert role_of(User.objects.create_user("plain")) is Role.VIEWER
    assert not Account.objects.exists()


def test_what_was_changed_is_on_record_with_who_and_how(caller: Make) -> None:
    caller("editor", "write").post("/api/v1/tags", {"name": "news"})
    entry = AuditEntry.objects.get()
    assert (entry.username, entry.token, entry.action, entry.detail) == (
        "editor",
        "test",
        "tag.created",
        {"name": "news"},
    )
    shown = caller("admin").get("/api/v1/audit")["items"][1]
    assert (shown["username"], shown["action"]) == ("editor", "tag.created")
    User.objects.get(username="editor").delete()
    assert AuditEntry.objects.get(action="tag.created").username == "editor"
