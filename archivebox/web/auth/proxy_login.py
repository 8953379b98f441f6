"""Owns coming in by the word of a proxy: REVERSE_PROXY_USER_HEADER names who has logged in there.

The header reaches Django from trusted proxies alone (:mod:`archivebox.web.server.trusted_proxies`). An account that
is new here is a viewer.
"""

from typing import TypeVar

from django.conf import settings
from django.contrib.auth.backends import RemoteUserBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.middleware import RemoteUserMiddleware
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.decorators import sync_only_middleware

from archivebox.accounts import audit
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import SYSTEM
from archivebox.web.middleware import GetResponse

Somebody = TypeVar("Somebody", bound=AbstractBaseUser)

_check_name = UnicodeUsernameValidator()


class _ProxyLogin(RemoteUserMiddleware):
    """Logs in whom the proxy names, and out again whom it names no more."""

    header = f"HTTP_{getattr(settings, 'REVERSE_PROXY_USER_HEADER', '').upper().replace('-', '_')}"

    def process_request(self, request: HttpRequest) -> None:
        if not _is_somebody(request.META.get(self.header, "")):
            request.META.pop(self.header, None)
        super().process_request(request)


def _is_somebody(name: str) -> bool:
    """Not what is no name, as two of them are, nor the account in whose name the command line works."""
    try:
        _check_name(name)
    except ValidationError:
        return False
    return len(name) <= 150 and name != SYSTEM


@sync_only_middleware
def proxy_login(get_response: GetResponse) -> GetResponse:
    """The middleware; never asynchronous, where Django 5.2 looks for a header of another name."""
    return _ProxyLogin(get_response)


class ProxyBackend(RemoteUserBackend):
    """Accounts by the names that the proxy gives; Django makes those that are new."""

    def authenticate(  # type: ignore[override]  # as in Django's own class
        self, request: HttpRequest | None, remote_user: str
    ) -> User | None:
        """Asked at a log-in alone: an account that is made for it is on record in the same transaction."""
        with write_transaction():
            return super().authenticate(request, remote_user)

    def configure_user(self, request: HttpRequest | None, user: Somebody, created: bool = True) -> Somebody:
        """A new account comes in by the proxy alone until its owner chooses a password."""
        del request
        if created:
            user.set_unusable_password()
            user.save(update_fields=["password"])
            audit.record(None, "user.created", user, username=user.get_username())
        return user
