"""Owns those who ask in tests of the API: passers-by, accounts of each role, tokens of each scope."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from archivebox.accounts import tokens
from archivebox.accounts.roles import Account
from archivebox.machine.host import forget_current_machine
from tests.stored_pages import store

__all__ = ["store"]

Make = Callable[..., "Caller"]


class Caller:
    """Somebody who sends JSON, by a session or by a token."""

    def __init__(self, user: User | None = None, token: str = "", *, csrf: bool = False) -> None:
        self.user = user
        headers = {"Authorization": f"Bearer {token}"} if token else None
        self.client = Client(headers=headers, enforce_csrf_checks=csrf, raise_request_exception=False)
        if user is not None and not token:
            self.client.force_login(user)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> HttpResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        data = b"" if body is None else json.dumps(body).encode()
        answer: HttpResponse = self.client.generic(method, path, data, "application/json", headers=sent)  # type: ignore[assignment]  # the client's own kind
        return answer

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.content
        return json.loads(answer.content)

    def post(self, path: str, body: object = None, status: int = 201, **headers: str) -> Any:
        answer = self.ask("POST", path, {} if body is None else body, **headers)
        assert answer.status_code == status, answer.content
        return json.loads(answer.content)


@pytest.fixture(autouse=True)
def another_machine() -> Iterator[None]:
    """The row of this machine goes with the test that made it."""
    yield
    forget_current_machine()


@pytest.fixture
def account(db: None) -> Callable[[str], User]:
    """An account of a role."""
    del db

    def make(role: str, name: str = "") -> User:
        if role == "admin":
            return User.objects.create_superuser(name or role)
        user = User.objects.create_user(name or role)
        Account.objects.create(user=user, role=role)
        return user

    return make


@pytest.fixture
def caller(account: Callable[[str], User]) -> Make:
    """``caller("editor")`` has a session; ``caller("editor", "read")`` a token with that scope."""

    def make(role: str, *scopes: str, csrf: bool = False) -> Caller:
        known = User.objects.filter(username=role).first()
        user = known or account(role)
        return Caller(user, tokens.issue(user, "test", scopes)[1] if scopes else "", csrf=csrf)

    return make
