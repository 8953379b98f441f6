"""Tells the intake who asks: what a role means for a request."""

from django.contrib.auth.models import User

from archivebox.accounts.permission import Who, may, user_of, viewer_scope
from archivebox.accounts.roles import ALLOWED, Action, role_of
from archivebox.core.intake.request import MAX_URLS_AT_ONCE, Requester


def is_visitor(who: Who) -> bool:
    """Whether ``who`` may add only because PUBLIC_ADD_VIEW lets everybody; an account of a viewer may, too."""
    return Action.ADD not in ALLOWED[role_of(user_of(who))]


def requester_of(who: Who, address: str = "") -> Requester:
    """``address``: the IP address that they ask from."""
    user = user_of(who)
    account = user if isinstance(user, User) else None
    if is_visitor(who):
        return Requester.visitor(account, viewer_scope(who), address)
    return Requester(account, viewer_scope(who), may(who, Action.ADMINISTER), MAX_URLS_AT_ONCE)
