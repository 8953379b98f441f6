"""Owns `archivebox share`: links that show a page or a saved search to whoever has them."""

from collections.abc import Iterator
from datetime import timedelta

from django.contrib.auth.models import User

from archivebox.accounts import audit
from archivebox.base_models.transactions import write_transaction
from archivebox.cli.conditions import find
from archivebox.cli.errors import BadInputError
from archivebox.cli.output import Column
from archivebox.cli.selection import find_snapshot
from archivebox.cli.session import Session
from archivebox.cli.token import account, revoke_row
from archivebox.config.early import early_settings
from archivebox.core.snapshot import Snapshot
from archivebox.lib.addresses import ListenAddress
from archivebox.search.models import SavedSearch, ShareLink, ShareLinkQuerySet, ShareRefusedError, create_share_link
from archivebox.workers.supervise.serving import served_at

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("shows", "shows", wraps=True),
    Column("account", "owner"),
    Column("views", "view_count", right=True),
    Column("expires", "expires_at"),
    Column("revoked", "revoked_at"),
)


def create(session: Session, *, page: tuple[str, ...], search: str | None, user: str | None, days: int) -> int:
    owner = account(user)
    target = _target(page, search, owner)
    try:
        with write_transaction():
            link, token = create_share_link(owner, target, timedelta(days=days))
            audit.record(None, "share.created", link, of=str(target), expires=str(link.expires_at))
    except ShareRefusedError as refused:
        raise BadInputError(str(refused)) from None
    address = f"{_base(session)}/shared/{token}/"
    session.out.event(
        {**_record(link), "link": address},
        address,
        f"It shows {target} until {link.expires_at:%Y-%m-%d}. Copy it now: it cannot be shown again.",
    )
    return 0


def list_(session: Session, *, all: bool) -> int:  # noqa: A002 - the option's name
    rows = ShareLink.objects.select_related("owner", "snapshot", "search").order_by("-id")
    session.out.table(
        COLUMNS,
        _records(rows if all else rows.valid()),
        empty="No share link. `archivebox share create URL` makes one.",
    )
    return 0


def revoke(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    link = find(ShareLink, id)
    sentence = "Revoked. The link no longer works."
    return revoke_row(session, link, "share.revoked", _record, sentence, of=str(link.snapshot or link.search))


def _target(page: tuple[str, ...], search: str | None, owner: User) -> Snapshot | SavedSearch:
    if (len(page) != 1) == (search is None):
        raise BadInputError("Name one page by its URL or id, or a saved search with --search.")
    if search is None:
        return find_snapshot(page[0])
    found = SavedSearch.objects.filter(owner=owner, name=search).first()
    if found is None:
        names = ", ".join(SavedSearch.objects.filter(owner=owner).values_list("name", flat=True))
        raise BadInputError(f"{owner.username} has no saved search {search}. There is: {names or 'none'}.")
    return found


def _base(session: Session) -> str:
    """Where people reach the server."""
    settings = early_settings(session.folder)
    served = served_at()
    own = served[0] if served else ListenAddress.parse(settings.get_text("BIND_ADDR"))
    return settings.get_text("BASE_URL").rstrip("/") or own.url.rstrip("/")


def _records(rows: ShareLinkQuerySet) -> Iterator[dict[str, object]]:
    return (_record(link) for link in rows.iterator())


def _record(link: ShareLink) -> dict[str, object]:
    return {
        "type": "ShareLink",
        "id": link.pk,
        "shows": str(link.snapshot or link.search),
        "snapshot_id": link.snapshot_id,
        "search_id": link.search_id,
        "owner": link.owner.username,
        "view_count": link.view_count,
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "last_viewed_at": link.last_viewed_at,
        "revoked_at": link.revoked_at,
    }
