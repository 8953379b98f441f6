"""Owns who may send more than a form holds: people who import files, on the page for that."""

from io import BytesIO
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections

from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action
from archivebox.web import settings
from archivebox.web.auth.sessions import SessionStore

PATH = "/import/"


async def may_upload(scope: dict[str, Any]) -> bool:
    """Asked before the first byte of a large body is read."""
    is_import = scope["method"] == "POST" and str(scope["path"]).endswith(PATH)
    return is_import and await sync_to_async(_may_edit)(scope)


def _may_edit(scope: dict[str, Any]) -> bool:
    try:
        request = ASGIRequest(scope, BytesIO())
        request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
        return may(get_user(request), Action.EDIT)
    finally:
        close_old_connections()
