"""Owns who may send more than a form holds: people who import files, and browsers that send the pages they saved."""

from io import BytesIO
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections

from archivebox.accounts import tokens
from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action
from archivebox.web import settings
from archivebox.web.auth.sessions import SessionStore

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
