"""Owns which share links somebody may see and revoke."""

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest

from archivebox.accounts.roles import Action
from archivebox.core.snapshot import Snapshot
from archivebox.search.share import ShareLink, ShareLinkQuerySet
from archivebox.web.auth.page_access import allows


def own_shares(request: HttpRequest) -> ShareLinkQuerySet:
    """Those of whoever asks; an administrator's are all."""
    rows = ShareLink.objects.all()
    return rows if allows(request, Action.ADMINISTER) else rows.filter(owner=cast("User", request.user))


def shares_of(request: HttpRequest, snapshot: Snapshot) -> ShareLinkQuerySet:
    """Those to one page that are valid now."""
    if not allows(request, Action.EDIT):
        return ShareLink.objects.none()
    return own_shares(request).valid().filter(snapshot=snapshot)
