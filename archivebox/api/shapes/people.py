"""Accounts, tokens and what they changed as the API shows them, and as it takes them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from ninja import Schema
from pydantic import Field, StringConstraints

from archivebox.accounts.audit import AuditEntry
from archivebox.accounts.roles import role_of
from archivebox.accounts.tokens import Token
from archivebox.api.shapes.archive import RequestBody

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
