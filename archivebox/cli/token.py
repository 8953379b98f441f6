"""Carries out `archivebox token`: tokens by which programs use the API."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TypeVar

from django.contrib.auth.models import User

from archivebox.accounts import audit, tokens
from archivebox.accounts.tokens import Token
from archivebox.base_models.revocable import Revocable
from archivebox.base_models.transactions import write_transaction
from archivebox.cli.conditions import find
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column, Record
from archivebox.cli.session import Session


def account(name: str | None) -> User:
    """The account of this name, else the oldest administrator; BadInputError where there is none."""
    active = User.objects.filter(is_active=True)
    found = active.filter(username=name) if name else active.filter(is_superuser=True).order_by("pk")
    user = found.first()
    if user is None:
        what = f"an account {name}" if name else "an administrator yet"
        raise BadInputError(f"There is not {what}. `archivebox manage createsuperuser` makes one.")
    return user


Revoked = TypeVar("Revoked", bound=Revocable)


def revoke_row(
    session: Session, row: Revoked, action: str, record: Callable[[Revoked], Record], sentence: str, **detail: str
) -> int:
    """Revoke it, write down that somebody did ``action``, and print its ``record`` or the sentence."""
    with write_transaction():
        row.revoke()
        audit.record(None, action, row, **detail)
    session.out.event(record(row), sentence)
    return 0


COLUMNS = (
    Column("id", "id", wraps=True),
    Column("what for", "label"),
    Column("account", "user"),
    Column("begins", "hint"),
    Column("scopes", "scopes"),
    Column("expires", "expires_at"),
    Column("last used", "last_used_at"),
    Column("revoked", "revoked_at"),
)


def create(
    session: Session, *, label: str, user: str | None, scope: tuple[str, ...], days: int, never_expires: bool
) -> int:
    owner = account(user)
    with write_transaction():
        lifetime = None if never_expires else timedelta(days=days)
        token, text = tokens.issue(owner, label, scope or ("read",), lifetime=lifetime)
        audit.record(None, "token.created", token, label=token.label, account=owner.username, scopes=token.scopes)
    session.out.event(
        {**_record(token), "token": text},
        text,
        f"It is {owner.username}'s, for {', '.join(token.scopes)}. Copy it now: it cannot be shown again.",
    )
    return 0


def list_(session: Session, *, all: bool) -> int:  # noqa: A002 - the option's name
    rows = Token.objects.select_related("user").order_by("-id")
    session.out.table(
        COLUMNS,
        _records(rows if all else rows.filter(revoked_at__isnull=True)),
        empty="No token. `archivebox token create LABEL` makes one.",
    )
    return 0


def revoke(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    token = find(Token, id)
    sentence = f"Revoked {token}."
    detail = {"label": token.label, "account": token.user.username}
    return revoke_row(session, token, "token.revoked", _record, sentence, **detail)


def _records(rows: "tokens.TokenQuerySet") -> Iterator[dict[str, object]]:
    return (_record(token) for token in rows.iterator())


def _record(token: Token) -> dict[str, object]:
    return {
        "type": "Token",
        "id": token.pk,
        "label": token.label,
        "user": token.user.username,
        "hint": token.hint,
        "scopes": token.scopes,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
        "revoked_at": token.revoked_at,
    }
