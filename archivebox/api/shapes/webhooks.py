"""Webhooks and what was sent to them as the API shows them, and as it takes them."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field, StringConstraints

from archivebox.api.shapes.archive import RequestBody
from archivebox.webhooks.models import Delivery, Webhook

EventName = Literal[
    "snapshot.sealed",
    "snapshot.failed",
    "crawl.finished",
    "crawl.paused",
    "crawl.cancelled",
    "job.finished",
    "schedule.started",
]
Address = Annotated[str, StringConstraints(min_length=1, max_length=2000), Field(description="https:// or http://")]
Events = Annotated[list[EventName], Field(min_length=1, max_length=20)]
ShortText = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00]*$")]
Pages = Annotated[
    str,
    StringConstraints(max_length=1000, pattern=r"^[^\x00]*$"),
    Field(description="Only pages that match this query; texts are not searched"),
]


class WebhookOut(Schema):
    """An address that is told of events."""

    id: UUID
    url: str
    label: str
    events: list[str]
    query: str
    is_enabled: bool
    problem: Annotated[str, Field(description="Why it was switched off automatically")]
    failures: Annotated[int, Field(description="Tries in a row that failed")]
    succeeded_at: Annotated[datetime | None, Field(description="When it last took a message")]
    created_by: str
    created_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[Webhook]) -> "list[WebhookOut]":
        return [cls(**webhook_fields(row)) for row in rows]


class WebhookMade(WebhookOut):
    """A webhook, with the secret that its messages are signed with."""

    secret: Annotated[str, Field(description="Shown only once")]


class WebhookIn(RequestBody):
    """What to tell, and where."""

    url: Address
    events: Events
    label: ShortText = ""
    query: Pages = ""


class WebhookPatch(RequestBody):
    """What may be changed of a webhook; what is left out stays."""

    url: Address | None = None
    events: Events | None = None
    label: ShortText | None = None
    query: Pages | None = None
    is_enabled: bool | None = None


class DeliveryOut(Schema):
    """One message, and what came of it."""

    id: Annotated[UUID, Field(description="`webhook-id` of every try")]
    webhook: UUID
    event: str
    status: Literal["queued", "succeeded", "failed"]
    tries: int
    next_at: Annotated[datetime | None, Field(description="When it is sent or retried; null: not automatically")]
    tried_at: datetime | None
    took_ms: int | None
    http_status: Annotated[int, Field(description="Of the last answer; 0: there was none")]
    problem: Annotated[str, Field(description="Why the last try failed")]
    message: dict[str, Any]
    created_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[Delivery]) -> "list[DeliveryOut]":
        return [cls._of(row) for row in rows]

    @classmethod
    def _of(cls, row: Delivery) -> "DeliveryOut":
        names = ("id", "event", "status", "tries", "tried_at", "took_ms", "http_status", "problem", "created_at")
        own = {name: getattr(row, name) for name in names}
        return cls(**own, webhook=row.webhook_id, next_at=row.retry_at, message=json.loads(row.body))


def webhook_fields(row: Webhook) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in WebhookOut.model_fields if name != "created_by"}
    return {**own, "created_by": row.created_by.username}
