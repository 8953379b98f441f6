"""Pages of accounts and tokens: made, shown once, revoked, invited, given another role."""

import re

from django.contrib.admin import site
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from archivebox.accounts import tokens
from archivebox.accounts.models import AuditEntry, Token
from archivebox.accounts.roles import Role, role_of
from archivebox.core.models import Tag
from archivebox.web.page.list_paging import SIZE
from tests.integration.api.conftest import Caller, Make
from tests.webserver.markup import page_of


def send(somebody: Caller, path: str, **fields: str) -> HttpResponse:
    answer: HttpResponse = somebody.client.post(path, fields)  # type: ignore[assignment]  # the client's own kind
    return answer


def test_a_token_made_on_a_page_is_shown_once_and_revoked(caller: Make) -> None:
    viewer = caller("viewer")
    page = page_of(send(viewer, "/tokens/", label="My phone", scope="read", days="30"))
    found = re.search(r"<code>(abx_[\w-]{40,})</code>", page)
    assert found
    assert Caller(token=found.group(1)).ask("GET", "/api/v1/snapshots").status_code == 200
    again = page_of(viewer.client.get("/tokens/"))
    assert "My phone" in again
    assert found.group(1) not in again
    assert send(viewer, f"/tokens/{Token.objects.get().pk}/revoke/").status_code == 302
    assert Caller(token=found.group(1)).ask("GET", "/api/v1/snapshots").status_code == 401
    assert send(viewer, "/tokens/", label="", scope="all").status_code == 422


def test_somebody_is_invited_given_a_role_and_disabled_on_a_page(caller: Make) -> None:
    admin = caller("admin")
    page = page_of(send(admin, "/people/", username="new", role="viewer"))
    assert re.search(r"<code>http://testserver/login/link/[\w-]+/</code>", page)
    path = f"/people/{User.objects.get(username='new').pk}/"
    send(admin, path, do="role", role="editor")
    assert role_of(User.objects.get(username="new")) is Role.EDITOR
    send(admin, path, do="disable")
    assert not User.objects.get(username="new").is_active
    assert send(admin, path, do="explode").status_code == 404
    assert "already" in page_of(send(admin, "/people/", username="new", role="viewer"))
    assert admin.user is not None
    send(admin, f"/people/{admin.user.pk}/", do="disable")
    shown = page_of(admin.client.get("/people/"))
    assert "another account an admin first" in shown
    record = page_of(admin.client.get("/people/record/"))
    assert [action for action in ("user.invited", "user.role", "user.disabled") if action not in record] == []
    assert AuditEntry.objects.exclude(action="user.login").count() == 3


def test_the_admin_changes_no_account_nor_what_opens_one(caller: Make) -> None:
    admin = caller("admin")
    assert admin.user is not None
    fields = {"usable_password": "true", "password1": "another horse battery", "password2": "another horse battery"}
    for path in (f"{admin.user.pk}/password/", f"{admin.user.pk}/change/", f"{admin.user.pk}/delete/", "add/"):
        assert send(admin, f"/admin/auth/user/{path}", username="new", post="yes", **fields).status_code == 404
    assert list(User.objects.values_list("username", "password")) == [("admin", admin.user.password)]
    assert {model._meta.app_label for model in site._registry} & {"accounts", "auth", "sessions"} == set()


def test_what_somebody_may_not_do_is_not_offered(caller: Make) -> None:
    viewer, admin = (page_of(caller(role).client.get("/")) for role in ("viewer", "admin"))
    assert 'href="/people/"' not in viewer
    assert 'id="add"' not in viewer
    assert 'href="/people/"' in admin
    assert 'id="add"' in admin


def test_lists_of_accounts_tokens_and_tags_come_by_the_page_with_few_queries(caller: Make) -> None:
    admin = caller("admin")
    assert admin.user is not None
    User.objects.bulk_create(User(username=f"person{number:03}") for number in range(SIZE + 5))
    Tag.objects.bulk_create(Tag(name=f"tag {number}", slug=f"tag-{number}") for number in range(100))
    for number in range(SIZE + 5):
        tokens.issue(admin.user, f"token {number:03}", ["read"])
    for path, last, word in (
        ("/people/", f"person{SIZE + 4:03}", "More"),
        ("/tokens/", "token 000", "Older"),
        ("/tags/", "tag 99", "More"),
    ):
        with CaptureQueriesContext(connection) as asked:
            page = page_of(admin.client.get(path))
        assert len(asked) < 12, path
        assert f">{last}<" not in page, path
        further = re.search(rf'href="(\?[^"]+)">{word}</a>', page)
        assert further, path
        assert f">{last}<" in page_of(admin.client.get(path + further.group(1))), path
