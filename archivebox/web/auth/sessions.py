"""Owns how sessions are stored: under a digest of their key, so that a reader of the database cannot take one over."""

import hashlib
from io import BytesIO
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import SESSION_KEY, get_user
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.db.models import QuerySet
from django.utils import timezone

from archivebox.accounts import tokens
from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action
from archivebox.web import settings

BACKEND = "django.contrib.auth.backends.ModelBackend"
"""What a session names that began on our own pages; one that a proxy began names another."""
BY_PROVIDER = "by_provider"
"""What a session has that began at an OpenID provider."""


def digest(key: str) -> str:
    """The name of a session in the database: 160 bits, as its column holds 40 characters."""
    return hashlib.blake2b(key.encode(), digest_size=20).hexdigest()


class SessionStore(db.SessionStore):
    """Django's sessions in the database; the key itself is known to the visitor's browser alone."""

    def _own(self) -> QuerySet[AbstractBaseSession]:
        name = digest(self.session_key or "")
        return self.model._default_manager.filter(session_key=name, expire_date__gt=timezone.now())

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        return self._found(self._own().first())

    async def _aget_session_from_db(self) -> AbstractBaseSession | None:
        return self._found(await self._own().afirst())

    def _found(self, session: AbstractBaseSession | None) -> AbstractBaseSession | None:
        if session is None:
            self._session_key = None  # an unknown key is never taken over for a new session
        return session

    def exists(self, session_key: str) -> bool:
        return super().exists(digest(session_key))

    async def aexists(self, session_key: str) -> bool:
        return await super().aexists(digest(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        return _hidden(super().create_model_instance(data))

    async def acreate_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        return _hidden(await super().acreate_model_instance(data))

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(digest(key))

    async def adelete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            await super().adelete(digest(key))


def _hidden(session: AbstractBaseSession) -> AbstractBaseSession:
    session.session_key = digest(session.session_key)
    return session


def end_sessions(user: User, *, but: str | None = None) -> int:
    """Log the account out everywhere, but for the session of this key. How many sessions ended.

    The rows are read one by one: whose they are stands in what is signed. That is for rare acts.
    """
    kept = digest(but) if but else ""
    rows = Session.objects.filter(expire_date__gt=timezone.now()).exclude(session_key=kept)
    theirs = [row.pk for row in rows.iterator() if row.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
    return len(theirs)


# --- who may send more than a form holds: people who import files, and browsers that send the pages they saved -----

IMPORTS, SAVED_PAGE = ("/import/", "/import/archives/"), "/api/v1/snapshots/singlefile"


async def may_upload(scope: dict[str, Any]) -> bool:
    """Asked before the first byte of a large body is read."""
    path = str(scope["path"])
    if scope["method"] != "POST" or not path.endswith((*IMPORTS, SAVED_PAGE)):
        return False
    return await sync_to_async(_may_edit if path.endswith(IMPORTS) else _may_add)(scope)


def _may_edit(scope: dict[str, Any]) -> bool:
    try:
        request = ASGIRequest(scope, BytesIO())
        request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
        return may(get_user(request), Action.EDIT)
    finally:
        close_old_connections()


def _may_add(scope: dict[str, Any]) -> bool:
    """By its token: the extension has no session."""
    try:
        scheme, _, text = ASGIRequest(scope, BytesIO()).headers.get("Authorization", "").partition(" ")
        token = tokens.find(text.strip()) if scheme.lower() == "bearer" else None
        return token is not None and may(token, Action.ADD)
    finally:
        close_old_connections()
