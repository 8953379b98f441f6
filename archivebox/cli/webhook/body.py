"""Owns `archivebox webhook`: addresses that are told what happens here."""

from collections.abc import Callable, Iterator

from archivebox.accounts import audit
from archivebox.base_models.transactions import write_transaction
from archivebox.cli.accounts import account
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import ON_A_TERMINAL
from archivebox.cli.output import Column
from archivebox.cli.records import pages, record_of
from archivebox.cli.select import pointed_at
from archivebox.cli.session import Session
from archivebox.cli.values import find, find_all
from archivebox.search.query import QueryError, parse
from archivebox.webhooks import registering, settling
from archivebox.webhooks.delivery import Delivery
from archivebox.webhooks.outbox import enqueue_test_event
from archivebox.webhooks.registering import WebhookRefusedError
from archivebox.webhooks.webhook import Webhook
from archivebox.workers.egress.policies import reach_of
from archivebox.workers.supervise.watch import orchestrator_is_running

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("what for", "label"),
    Column("account", "user"),
    Column("on", "is_enabled"),
    Column("last accepted", "succeeded_at"),
    Column("events", "events", wraps=True),
    Column("address", "url", wraps=True),
)
DELIVERIES = (
    Column("webhook-id", "id", wraps=True),
    Column("event", "event"),
    Column("status", "status"),
    Column("tries", "tries", right=True),
    Column("tried", "tried_at"),
    Column("answer", lambda record: record["http_status"] or "", right=True),
    Column("problem", "problem", wraps=True),
)
LABELS = {
    "id": "id", "label": "what for", "url": "address", "user": "account", "is_enabled": "on", "problem": "problem",
    "events": "events", "query": "pages", "succeeded_at": "last accepted", "created_at": "added",
}  # fmt: skip


def add(session: Session, *, url: str, event: tuple[str, ...], query: str, label: str, user: str | None) -> int:
    _check_query(query)
    webhook = Webhook(url=url, events=list(event), query=query, label=label[:100], created_by=account(user))
    try:
        with write_transaction():
            registering.put(webhook, reach_of(webhook.created_by))
            audit.record(None, "webhook.created", webhook, url=webhook.url, events=webhook.events)
    except WebhookRefusedError as error:
        raise BadInputError(str(error)) from None
    _show_secret(session, webhook)
    return 0


def _check_query(query: str) -> None:
    try:
        parse(query)
    except QueryError as error:
        raise BadInputError(pointed_at(query, error)) from None


def _show_secret(session: Session, webhook: Webhook) -> None:
    session.out.event(
        {**_record(webhook), "secret": webhook.secret},
        webhook.secret,
        f"Webhook {webhook.pk} signs with it. Copy it now: it cannot be shown again.",
    )


def list_(session: Session, *, limit: int | None) -> int:
    rows = Webhook.objects.select_related("created_by")
    records = (_record(row) for page in pages(rows, _bound(session, limit)) for row in page)
    session.out.table(COLUMNS, records, empty="No webhook. `archivebox webhook add URL` makes one.")
    return 0


def show(session: Session, *, id: str, limit: int | None) -> int:  # noqa: A002 - the argument's name
    webhook = find(Webhook, id)
    session.out.facts(_record(webhook), LABELS)
    session.out.table(DELIVERIES, _deliveries(webhook, _bound(session, limit)), empty="Nothing was sent to it yet.")
    return 0


def _deliveries(webhook: Webhook, limit: int | None) -> Iterator[dict[str, object]]:
    rows = Delivery.objects.filter(webhook=webhook)
    return (record_of(row) for page in pages(rows, limit) for row in page)


def _bound(session: Session, limit: int | None) -> int | None:
    return limit or (ON_A_TERMINAL if session.out.is_for_people else None)


def test(session: Session, *, ids: tuple[str, ...]) -> int:
    code = _each(session, ids, "test", _send_test, "Test queued for {}; `archivebox webhook show` shows the result.")
    if not orchestrator_is_running():
        session.out.say("Nothing is running here: `archivebox run` or `archivebox server` sends it.")
    return code


def _send_test(webhook: Webhook) -> None:
    if not webhook.is_enabled:
        raise BadInputError(_is_off(webhook))
    enqueue_test_event(webhook)


def _is_off(webhook: Webhook) -> str:
    return f"{webhook} is switched off: `archivebox webhook enable {webhook.pk}` comes first."


def enable(session: Session, *, ids: tuple[str, ...]) -> int:
    return _each(session, ids, "enabled", settling.enable, "{} is enabled; pending messages are sent.")


def disable(session: Session, *, ids: tuple[str, ...]) -> int:
    return _each(session, ids, "disabled", settling.disable, "{} is disabled; pending messages are held.")


def remove(session: Session, *, ids: tuple[str, ...]) -> int:
    return _each(session, ids, "removed", registering.remove, "{} was removed.")


def _each(session: Session, ids: tuple[str, ...], action: str, change: Callable[[Webhook], object], said: str) -> int:
    """Do it to each, and say so: ``said`` with the webhook's name in it."""
    for webhook in find_all(Webhook, ids):
        record = _record(webhook)
        with write_transaction():
            audit.record(None, f"webhook.{action}", webhook, url=webhook.url)
            change(webhook)
        session.out.event(record, said.format(webhook))
    return 0


def secret(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    webhook = find(Webhook, id)
    with write_transaction():
        registering.renew_secret(webhook)
        audit.record(None, "webhook.secret", webhook)
    _show_secret(session, webhook)
    return 0


def resend(session: Session, *, ids: tuple[str, ...]) -> int:
    code = 0
    for delivery in find_all(Delivery, ids, listed_by="webhook show ID"):
        if problem := _send_again(delivery):
            session.out.warn(f"{delivery.pk}: {problem}")
            code = 2
        else:
            session.out.event(record_of(Delivery.objects.get(pk=delivery.pk)), f"{delivery.pk} is sent again.")
    return code


def _send_again(delivery: Delivery) -> str:
    """Empty, or why it is not sent."""
    webhook = delivery.webhook
    if not webhook.is_enabled:
        return _is_off(webhook)
    with write_transaction():
        if not settling.send_again(delivery):
            return "it is being sent at this moment."
        audit.record(None, "webhook.resent", webhook, delivery=str(delivery.pk))
    return ""


def _record(webhook: Webhook) -> dict[str, object]:
    """What anybody may read of it: not its secret."""
    record = record_of(webhook, user=webhook.created_by.username, is_enabled=webhook.is_enabled)
    del record["secret"]
    return record
