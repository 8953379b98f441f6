"""Accounts, tokens, and the record of what was changed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from archivebox.accounts import people, tokens
from archivebox.accounts.audit import AuditEntry
from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action, Role, role_of
from archivebox.accounts.tokens import Token
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.idempotency import show_once
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import RequestBody
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import SYSTEM

RoleName = Literal["admin", "editor", "viewer"]
ScopeName = Literal["feed", "read", "add", "write", "admin"]


class UserOut(Schema):
    """An account."""

    id: int
    username: str
    role: str
    is_active: bool
    last_login: datetime | None
    date_joined: datetime

    @classmethod
    def of(cls, user: User) -> "UserOut":
        return cls(
            id=user.pk,
            username=user.username,
            role=role_of(user).value if user.is_active else "disabled",
            is_active=user.is_active,
            last_login=user.last_login,
            date_joined=user.date_joined,
        )


class UserPage(Schema):
    """A part of the accounts, by the order in which they were made."""

    items: list[UserOut]
    next: int | None


class UserIn(RequestBody):
    username: Annotated[str, StringConstraints(min_length=1, max_length=150)]
    role: RoleName = "viewer"


class UserInvited(UserOut):
    """A new account, and the link by which its owner comes in."""

    link: Annotated[str, Field(description="Logs in once, within an hour; shown only once")]


class UserPatch(RequestBody):
    role: RoleName | None = None
    is_active: bool | None = None


class TokenOut(Schema):
    """A token, without what only its holder knows."""

    id: UUID
    user: str
    label: str
    scopes: list[str]
    hint: Annotated[str, Field(description="Its first letters")]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    @classmethod
    def all_of(cls, rows: Sequence[Token]) -> "list[TokenOut]":
        return [cls(**token_fields(row)) for row in rows]


class TokenMade(TokenOut):
    """A new token, with the text that it is used by."""

    token: Annotated[str, Field(description="Shown only once")]


class TokenIn(RequestBody):
    label: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*\S[^\x00]*$")]
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=5)] = ["read"]
    days: Annotated[int, Field(ge=1, le=36_500, description="Until it expires")] = 365


def token_fields(row: Token) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in TokenOut.model_fields if name not in {"user", "created_at"}}
    return {**own, "user": row.user.username, "created_at": row.created_at}


class AuditOut(Schema):
    """One change, by whom and when."""

    id: UUID
    at: datetime
    username: str
    token: str
    address: str
    action: str
    object_id: str
    detail: dict[str, Any]

    @classmethod
    def all_of(cls, rows: Sequence[AuditEntry]) -> "list[AuditOut]":
        return [
            cls(
                id=row.pk,
                at=row.created_at,
                username=row.username,
                token=row.token,
                address=row.address,
                action=row.action,
                object_id=row.object_id,
                detail=row.detail,
            )
            for row in rows
        ]


router = Router(tags=["accounts"])


class UserWindow(Schema):
    """Which part of the list of accounts is wanted."""

    limit: Annotated[int, Field(ge=1, le=500)] = 50
    cursor: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None


@router.get("/users", response=UserPage, auth=Bearer(Action.ADMINISTER))
def list_users(request: HttpRequest, window: Query[UserWindow]) -> UserPage:
    """Accounts."""
    del request
    rows = _accounts().filter(pk__gt=window.cursor or 0).order_by("pk")
    found = list(rows[: window.limit + 1])
    more, found = len(found) > window.limit, found[: window.limit]
    return UserPage(items=[UserOut.of(user) for user in found], next=found[-1].pk if more else None)


@router.post("/users", response={201: UserInvited}, auth=Bearer(Action.ADMINISTER))
def invite_user(request: HttpRequest, wanted: UserIn) -> Status[UserInvited]:
    """Make an account, whose owner comes in by the link and chooses a password."""
    show_once(request)
    user = people.invite(caller_account(request), wanted.username, Role(wanted.role))
    base = getattr(settings, "BASE_URL", "") or f"{request.scheme}://{request.get_host()}"
    link = f"{base}/login/link/{people.invitation(user)}/"
    return Status(201, UserInvited(**UserOut.of(user).dict(), link=link))


@router.get("/users/me", response=UserOut, auth=Bearer(Action.LIST))
def get_me(request: HttpRequest) -> UserOut:
    """The account that the token is of."""
    return UserOut.of(caller_account(request))


@router.get("/users/{int:user_id}", response=UserOut, auth=Bearer(Action.ADMINISTER))
def get_user(request: HttpRequest, user_id: int) -> UserOut:
    """One account."""
    del request
    return UserOut.of(_find_user(user_id))


@router.patch("/users/{int:user_id}", response=UserOut, auth=Bearer(Action.ADMINISTER))
def change_user(request: HttpRequest, user_id: int, wanted: UserPatch) -> UserOut:
    """Give it another role, or let it in no more: its sessions and tokens end at once."""
    by, user = caller_account(request), _find_user(user_id)
    with write_transaction():
        if wanted.role is not None:
            people.set_role(by, user, Role(wanted.role))
        if wanted.is_active is not None:
            (people.enable if wanted.is_active else people.disable)(by, user)
    return UserOut.of(_find_user(user_id))


def _accounts() -> QuerySet[User]:
    return User.objects.select_related("account").exclude(username=SYSTEM)


def _find_user(key: int) -> User:
    user = _accounts().filter(pk=key).first()
    if user is None:
        raise Http404
    return user


@router.get("/tokens", response=Page[TokenOut], auth=Bearer(Action.OWN))
def list_tokens(request: HttpRequest, window: Query[Window]) -> Page[TokenOut]:
    """Your own tokens; an administrator sees all."""
    return page_of(_tokens(request), window, TokenOut.all_of)


@router.post("/tokens", response={201: TokenMade}, auth=Bearer(Action.OWN))
def create_token(request: HttpRequest, wanted: TokenIn) -> Status[TokenMade]:
    """Make a token for your own account. Its text is in this answer, and never again."""
    show_once(request)
    with write_transaction():
        lifetime = timedelta(days=wanted.days)
        token, text = tokens.issue(caller_account(request), wanted.label, wanted.scopes, lifetime=lifetime)
        record_audit(request, "token.created", token, label=token.label, scopes=token.scopes)
    return Status(201, TokenMade(**token_fields(token), token=text))


@router.get("/tokens/{uuid:token_id}", response=TokenOut, auth=Bearer(Action.OWN))
def get_token(request: HttpRequest, token_id: UUID) -> TokenOut:
    """One token, without its text."""
    return TokenOut.all_of([_find_token(request, token_id)])[0]


@router.delete("/tokens/{uuid:token_id}", response={204: None}, auth=Bearer(Action.OWN))
def revoke_token(request: HttpRequest, token_id: UUID) -> Status[None]:
    """Have it open nothing any more."""
    token = _find_token(request, token_id)
    if token.revoked_at is not None:
        raise ProblemError(409, "Already revoked.")
    with write_transaction():
        token.revoke()
        record_audit(request, "token.revoked", token, label=token.label)
    return Status(204, None)


def _tokens(request: HttpRequest) -> tokens.TokenQuerySet:
    rows = Token.objects.select_related("user")
    return rows if may(caller(request), Action.ADMINISTER) else rows.filter(user=caller_account(request))


def _find_token(request: HttpRequest, key: UUID) -> Token:
    token = _tokens(request).filter(pk=key).first()
    if token is None:
        raise Http404
    return token


@router.get("/audit", response=Page[AuditOut], auth=Bearer(Action.ADMINISTER))
def list_audit(request: HttpRequest, window: Query[Window]) -> Page[AuditOut]:
    """What was changed, by whom, the latest first."""
    del request
    return page_of(AuditEntry.objects.all(), window, AuditOut.all_of)
