"""Owns whether a page at another address than the one that was asked for is the site's log-in page."""

from __future__ import annotations

import re
import urllib.parse

NAMED = frozenset(
    {
        "login", "log-in", "log_in", "logon", "log-on", "signin", "sign-in", "sign_in", "signon", "sign-on",
        "wp-login", "loginform", "login-form",
    }
)  # fmt: skip
"""Parts of a path that a log-in page has, without their ending."""
PERHAPS = frozenset(
    {
        "auth", "authenticate", "authorize", "oauth", "oauth2", "sso", "saml", "saml2", "cas", "idp", "session",
        "sessions",
    }
)  # fmt: skip
"""Parts of a path that pages about such things have as well."""
HOSTS = frozenset({"login", "signin", "auth", "sso", "accounts", "idp", "cas", "passport", "identity"})
"""First labels of hosts that are there for log-ins."""
_INDEX = re.compile(r"/(index|default|home)\.\w{2,5}$", re.IGNORECASE)


def is_login_wall(asked: str, came: str, *, password: bool, user: bool) -> bool:
    """Say whether `came`, which shows fields for a password or a user's name, keeps visitors from `asked`.

    A log-in page that was asked for is the page. So is one at the same path on another host or scheme, and any page
    that has a log-in form beside what it says: it has another name, and nothing to come back to.
    """
    wanted, shown = urllib.parse.urlsplit(asked), urllib.parse.urlsplit(came)
    if _is_login(wanted) or _place(wanted) == _place(shown):
        return False
    if _has(shown, NAMED) or (_is_login_host(shown) and not _is_login_host(wanted)):
        return password or user
    return password and (_has(shown, PERHAPS) or _comes_back(shown, wanted))


def _is_login(url: urllib.parse.SplitResult) -> bool:
    last = url.path.rstrip("/").rpartition("/")[2].lower().partition(".")[0]
    return _has(url, NAMED) or last in PERHAPS or (_is_login_host(url) and url.path in ("", "/"))


def _has(url: urllib.parse.SplitResult, names: frozenset[str]) -> bool:
    parts = url.path.lower().split("/")
    parts += url.fragment.lower().split("/") if url.fragment.startswith(("/", "!/")) else []  # of a page of scripts
    return any(part.partition(".")[0] in names for part in parts)


def _is_login_host(url: urllib.parse.SplitResult) -> bool:
    label, dot, _ = (url.hostname or "").partition(".")
    return bool(dot) and label in HOSTS


def _place(url: urllib.parse.SplitResult) -> tuple[str, str]:
    """What names a page on its site, whatever host and scheme the site is sent to."""
    fragment = url.fragment if url.fragment.startswith(("/", "!/")) else ""
    return _INDEX.sub("", urllib.parse.unquote(url.path)).rstrip("/").lower(), fragment


def _comes_back(shown: urllib.parse.SplitResult, wanted: urllib.parse.SplitResult) -> bool:
    """Say whether it knows the page to lead back to, as log-in pages do: `?next=/article`."""
    path = wanted.path.rstrip("/")
    if not path:
        return False
    values = [value for _, value in urllib.parse.parse_qsl(shown.query)]
    return any(urllib.parse.urlsplit(value).path.rstrip("/") == path for value in values)
