"""Who asks: a token in a header, or somebody who is logged in, with the CSRF token of a form for every change."""

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from archivebox.accounts import audit, tokens
from archivebox.accounts.permission import Who, may, user_of
from archivebox.accounts.roles import Action
from archivebox.accounts.tokens import Token
from archivebox.api.problems import ProblemError
from archivebox.lib.jsonl import JSON

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
KEY_HEADER = "X-ArchiveBox-API-Key"
"""Where ArchiveBox's browser extension puts its token."""
_KNOWN = "_archivebox_who"


def authenticate(request: HttpRequest) -> Who:
    """Whoever sent ``request``. ProblemError 401 for a token that opens nothing, 403 for a form that is not ours."""
    known: Who | None = getattr(request, _KNOWN, None)
    if known is None:
        known = _identify(request)
        setattr(request, _KNOWN, known)
    return known


def _identify(request: HttpRequest) -> Who:
    text = _token_in(request)
    if text is not None:
        return _token(text)
    if request.user.is_authenticated and request.method not in SAFE and check_csrf(request) is not None:
        raise ProblemError(403, "Changes made with a session instead of a token require the header X-CSRFToken.")
    return request.user


def _token_in(request: HttpRequest) -> str | None:
    """What was sent as a token; a log-in is not asked where one was."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme:
        return text.strip() if scheme.lower() == "bearer" else ""
    return request.headers.get(KEY_HEADER)


def _token(text: str) -> Token:
    token = tokens.find(text)
    if token is None:
        raise ProblemError(401, "Invalid token: unknown, expired or revoked.")
    token.touch()
    return token


class Bearer(AuthBase):
    """What an operation asks of whoever calls it."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, action: Action) -> None:
        super().__init__()
        self.action = action

    def __call__(self, request: HttpRequest) -> Who | None:
        who = authenticate(request)
        if may(who, self.action):
            return who
        if isinstance(who, AnonymousUser):
            return None
        raise ProblemError(403, _why_not(who, self.action), needs=self.action.value)


def _why_not(who: Token | User, action: Action) -> str:
    if isinstance(who, Token) and may(who.user, action):
        return f"The token {who.label!r} may not {action.value}: it is for {', '.join(who.scopes)}."
    return f"Your account may not {action.value}. Ask an administrator for another role."


def caller(request: HttpRequest) -> Who:
    """Who was let in."""
    who: Who = request.auth  # type: ignore[attr-defined]  # set by Bearer
    return who


def caller_account(request: HttpRequest) -> User:
    """The account in whose name this is done. ProblemError 401 for anonymous."""
    user = user_of(caller(request))
    if isinstance(user, User):
        return user
    raise ProblemError(401, "Authentication required: send a token.")


def record_audit(request: HttpRequest, action: str, target: object = None, **detail: JSON) -> None:
    """Put on record who did that."""
    who = caller(request)
    label = who.label if isinstance(who, Token) else ""
    audit.record(user_of(who), action, target, token=label, **detail)  # type: ignore[arg-type]  # any row
