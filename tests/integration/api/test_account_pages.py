"""Pages of accounts and tokens: made, shown once, revoked, invited, given another role."""

from __future__ import annotations

import re

from django.contrib.auth.models import User
from django.http import HttpResponse

from archivebox.accounts.models import AuditEntry, Token
from archivebox.accounts.roles import Role, role_of
from tests.integration.api.conftest import Caller, Make


def send(somebody: Caller, path: str, **fields: str) -> HttpResponse:
    answer: HttpResponse = somebody.client.post(path, fields)  # type: ignore[assignment]  # the client's own kind
    return answer


def test_a_token_made_on_a_page_is_shown_once_and_revoked(caller: Make) -> None:
    viewer = caller("viewer")
    page = send(viewer, "/tokens/", label="My phone", scope="read", days="30").content.decode()
    found = re.search(r"<code>(abx_[\w-]{40,})</code>", page)
    assert found
    assert Caller(token=found.group(1)).ask("GET", "/api/v1/snapshots").status_code == 200
    again = viewer.client.get("/tokens/").content.decode()
    assert "My phone" in again
    assert found.group(1) not in again
    assert send(viewer, f"/tokens/{Token.objects.get().pk}/revoke/").status_code == 302
    assert Caller(token=found.group(1)).ask("GET", "/api/v1/snapshots").status_code == 401
    assert send(viewer, "/tokens/", label="", scope="all").status_code == 422


def test_somebody_is_invited_given_a_role_and_disabled_on_a_page(caller: Make) -> None:
    admin = caller("admin")
    page = send(admin, "/people/", username="new", role="viewer").content.decode()
    assert re.search(r"<code>http://testserver/login/link/[\w-]+/</code>", page)
    path = f"/people/{User.objects.get(username='new').pk}/"
    send(admin, path, do="role", role="editor")
    assert role_of(User.objects.get(username="new")) is Role.EDITOR
    send(admin, path, do="disable")
    assert not User.objects.get(username="new").is_active
    assert send(admin, path, do="explode").status_code == 404
    assert "already" in send(admin, "/people/", username="new", role="viewer").content.decode()
    assert admin.user is not None
    send(admin, f"/people/{admin.user.pk}/", do="disable")
    shown = admin.client.get("/people/").content.decode()
    assert "somebody else an admin first" in shown
    record = admin.client.get("/people/record/").content.decode()
    assert [action for action in ("user.invited", "user.role", "user.disabled") if action not in record] == []
    assert AuditEntry.objects.exclude(action="user.login").count() == 3


def test_what_somebody_may_not_do_is_not_offered(caller: Make) -> None:
    viewer, admin = (caller(role).client.get("/").content.decode() for role in ("viewer", "admin"))
    assert 'href="/people/"' not in viewer
    assert 'id="add"' not in viewer
    assert 'href="/people/"' in admin
    assert 'id="add"' in admin
