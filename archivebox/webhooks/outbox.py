"""Owns what is told: written down in the transaction of the change itself, for workers to deliver."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from archivebox.base_models.bulk_write import insert_rows
from archivebox.base_models.rows import new_id
from archivebox.base_models.wakeups import notify_workers
from archivebox.lib.jsonl import JSON
from archivebox.webhooks.models import TEST, Delivery, Event, Webhook, subscriptions

LOOK_EVERY = 1.0
"""Seconds for which a process goes by what it knows: where there is no webhook, a page costs no question."""


@dataclass(slots=True)
class _Known:
    """Events that somebody wanted to be told of when this process last looked."""

    events: frozenset[str] = frozenset()
    until: float = 0.0


_known = _Known()


def is_wanted(*events: Event) -> bool:
    """Whether somebody may want to be told of one of these: asked before what there is to tell is gathered."""
    now = time.monotonic()
    if now >= _known.until:
        _known.events = frozenset(event for _, _, events in subscriptions() for event in events)
        _known.until = now + LOOK_EVERY
    return not _known.events.isdisjoint(events)


def reload_subscriptions() -> None:
    """Read which events are wanted anew at the next one: this process has changed webhooks."""
    _known.until = 0.0


def enqueue_event(event: Event, object_id: UUID, data: Mapping[str, JSON]) -> None:
    """Tell every webhook that wants this event. Call it in the transaction of what has happened."""
    if not is_wanted(event):
        return
    told = [(key, owner) for key, owner, events in subscriptions() if event in events]
    columns = {"event": event.value, "object_id": object_id, "body": _message(event, data)}
    rows = [(new_id(), columns | {"webhook_id": key, "created_by_id": owner}) for key, owner in told]
    insert_rows(Delivery, rows)
    notify_workers()


def enqueue_test_event(webhook: Webhook) -> Delivery:
    """A message with which somebody sees whether messages come."""
    body = _message(TEST, {"webhook": str(webhook.pk), "label": webhook.label})
    sent: Delivery = Delivery.objects.create(
        webhook=webhook, created_by_id=webhook.created_by_id, event=TEST, object_id=webhook.pk, body=body
    )
    notify_workers()
    return sent


def _message(event: str, data: Mapping[str, JSON]) -> str:
    return json.dumps({"type": event, "timestamp": timezone.now().isoformat(), "data": dict(data)}, ensure_ascii=False)
