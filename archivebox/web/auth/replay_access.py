"""Owns who looks at archived files: the session that a capability was given to, and whether it still holds."""

from uuid import UUID

from django.conf import settings as django_settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpRequest
from django.http.request import validate_host
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from archivebox.accounts.permission import viewer_scope
from archivebox.base_models.visibility import ViewerScope
from archivebox.replay.addresses import host_name
from archivebox.replay.capability import LINK, PUBLIC, Capability, Purpose
from archivebox.replay.folders import PageFiles, files_of, visible_files
from archivebox.replay.listener import EndedError
from archivebox.replay.models import add_violations, find_script_view
from archivebox.replay.scripts.listener import OpenView
from archivebox.replay.scripts.requests import page_place
from archivebox.search.backend import SearchUnavailableError
from archivebox.search.models import ShareLink, usable_share_link
from archivebox.web import settings
from archivebox.web.auth.sessions import SessionStore, digest


def viewer_of(request: HttpRequest) -> str:
    """Whom a capability is for; it ends with this session, and says nothing of its key."""
    return digest(request.session.session_key or "") if request.user.is_authenticated else PUBLIC


def folder_opened_by(right: Capability) -> PageFiles | None:
    """The files that ``right`` opens; EndedError where its viewer has left. Blocks; leaves no connection open."""
    try:
        if right.is_shared:
            return _shared_files(right)
        scope = _viewer_scope(right)
        if scope is None:
            raise EndedError
        return visible_files(right.snapshot_id, scope)
    finally:
        connection.close()


def view_opened_by(label: str) -> OpenView:
    """The script view that ``label`` opens; EndedError where it or its viewer's session has ended. Blocks."""
    try:
        view = find_script_view(label)
        scope = None if view is None else _viewer_scope(Capability(view.snapshot_id, Purpose.SCRIPTS, view.viewer))
        files = None if view is None or scope is None else visible_files(view.snapshot_id, scope)
        if view is None or files is None:
            raise EndedError
        folder = files.folder()
        return OpenView(view.pk, folder, page_place(folder, view.snapshot_id, view.url))
    finally:
        connection.close()


def add_view_violations(key: UUID, count: int) -> None:
    """Count what the policy of a script view has refused. Blocks; leaves no connection open."""
    try:
        add_violations(key, count)
    finally:
        connection.close()


def is_known_host(host: str) -> bool:
    """Whether archived files are shown under this name: one of the server's own, or a host per snapshot below it."""
    return validate_host(host_name(host), [*django_settings.ALLOWED_HOSTS, *settings.REPLAY_HOSTS])


def viewer_of_link(link: ShareLink) -> str:
    """Whom the capability of a shared page is for: it ends with the link."""
    return f"{LINK}{link.pk.hex}"


def _shared_files(right: Capability) -> PageFiles:
    """EndedError where the link was revoked, has expired, or shows this page no more."""
    try:
        link = usable_share_link(UUID(right.viewer.removeprefix(LINK)))
        page = None if link is None else link.page(right.snapshot_id)
    except (ValueError, SearchUnavailableError):  # a QueryError is the first
        raise EndedError from None
    if page is None:
        raise EndedError
    return files_of(page)


def _viewer_scope(right: Capability) -> ViewerScope | None:
    """How far its viewer sees by now; None for one who has left."""
    if right.viewer != PUBLIC:
        user = _logged_in(right.viewer)
        return None if user is None else viewer_scope(user)
    is_open = settings.PUBLIC_SNAPSHOTS or (settings.PUBLIC_INDEX and right.purpose is Purpose.FILE)
    return viewer_scope(AnonymousUser()) if is_open else None


def _logged_in(viewer: str) -> User | None:
    """Whose session it is, if it is there, and of an account that may log in with the password it was begun with."""
    session = Session.objects.filter(session_key=viewer, expire_date__gt=timezone.now()).first()
    said = SessionStore().decode(session.session_data) if session else {}
    user = User.objects.filter(pk=said.get(SESSION_KEY) or 0, is_active=True).first()
    if user is None or not constant_time_compare(said.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
        return None
    return user
