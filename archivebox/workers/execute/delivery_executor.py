"""A message of a webhook in the hands of a worker: sent beside everything else, and settled."""

import asyncio
import logging
import ssl
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import models

from archivebox import __version__
from archivebox.accounts.permission import may, viewer_scope, visible_snapshots
from archivebox.accounts.roles import Action
from archivebox.base_models.visibility import seen_by
from archivebox.config.resolve import SettingError
from archivebox.crawls.crawl import Crawl
from archivebox.crawls.schedule import CrawlSchedule
from archivebox.jobs.permission import visible_jobs
from archivebox.lib.egress import Dialer, Message, NotConnected, NotConnectedReason, PostResponse, post
from archivebox.lib.urls import parse_url
from archivebox.search.query import QueryError, select
from archivebox.webhooks.models import Delivery
from archivebox.webhooks.registering import private
from archivebox.webhooks.settling import Tried, settle
from archivebox.webhooks.signing import signed_fields
from archivebox.workers.egress.policies import dialer_of
from archivebox.workers.execute.engine import Engine
from archivebox.workers.execute.leased_item import LeasedItem
from archivebox.workers.queue.claim import Due, FetchRequest
from archivebox.workers.queue.lease import Lease
from archivebox.workers.queue.quarantine import quarantine

log = logging.getLogger(__name__)

PATIENCE = 15.0
"""Seconds for a whole try, as the specification of Standard Webhooks advises: 15 to 30."""
NO_ANSWER = PostResponse(0)
FIELDS = {"User-Agent": f"ArchiveBox/{__version__}", "Content-Type": "application/json"}


MOST_DELIVERIES = 8
"""Messages of webhooks that one worker sends at a time."""
OF_SOMEBODY: dict[str, type[models.Model]] = {"crawl": Crawl, "schedule": CrawlSchedule}
"""What is not there for everybody, by the first word of its events; pages can be removed, too."""


class LoadedDelivery(NamedTuple):
    """What a worker reads when it takes a Delivery. ``problem``: why it cannot be sent as things are set."""

    delivery: Delivery
    dialer: Dialer | None
    problem: str = ""


class DeliveryExecutor(LeasedItem):
    """Sends one message once, and puts on record what came of it."""

    def __init__(self, engine: Engine, lease: Lease, loaded: LoadedDelivery) -> None:
        super().__init__(engine, lease)
        self._task = engine.in_background(self._deliver(loaded))

    async def _deliver(self, loaded: LoadedDelivery) -> None:
        unsent = Tried(0, timedelta(), loaded.problem)
        tried = unsent if loaded.dialer is None else await send(loaded.dialer, loaded.delivery)
        if not tried.is_accepted:
            log.info("Not taken: %s action=delivery_failed delivery=%s", tried.sentence, self.lease.pk)
        await self.engine.journal.read(settle, loaded.delivery, tried)
        self.finish()

    async def handle_request(self, event: str) -> None:
        """Nobody asks anything of a message but its release. It may have arrived: it is sent again, with its key."""
        del event
        await self.abandon()
        await self.engine.journal.read(release, self.lease)

    async def abandon(self) -> None:
        self.ending = True
        self._task.cancel()
        await asyncio.wait([self._task])
        self.finish()


async def send(dialer: Dialer, delivery: Delivery) -> Tried:
    """One try, and how long it took."""
    began = time.monotonic()
    answer, problem = await _answer(dialer, delivery)
    return Tried(answer.status, timedelta(seconds=time.monotonic() - began), problem, answer.retry_after)


async def _answer(dialer: Dialer, delivery: Delivery) -> tuple[PostResponse, str]:
    """The answer, or the sentence of why there was none."""
    body = delivery.body.encode()
    signed = signed_fields(delivery.webhook.secret, str(delivery.pk), int(time.time()), body)
    message = Message(parse_url(delivery.webhook.url), FIELDS | signed, body)
    try:
        return await post(dialer, message, PATIENCE), ""
    except NotConnected as error:
        is_private = error.why is NotConnectedReason.PRIVATE_ADDRESS
        return NO_ANSWER, private(message.place.host) if is_private else error.sentence
    except TimeoutError:
        return NO_ANSWER, f"There was no answer within {PATIENCE:.0f} seconds."
    except ssl.SSLCertVerificationError as error:
        return NO_ANSWER, f"Its certificate cannot be trusted: {error.verify_message}."
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        return NO_ANSWER, f"The connection broke before there was an answer: {error}."


# --- on the database thread -------------------------------------------------------------------------------------


def select_due(_engine: Engine, held: Sequence[DeliveryExecutor]) -> Due:
    """Messages that there is capacity for: of whatever, also while somebody waits for one crawl alone."""
    return partial(due, MOST_DELIVERIES - len(held))


def due(most: int, _who: FetchRequest, now: datetime) -> list[UUID]:
    """At most so many due messages."""
    return list(Delivery.objects.due(now).values_list("pk", flat=True)[: min(most, 16)]) if most > 0 else []


def load(delivery_id: UUID, owner: UUID) -> LoadedDelivery | None:
    """Load a leased message; None: there is nothing to send, or not now."""
    held = Delivery.objects.filter(pk=delivery_id, owner=owner)
    delivery = held.select_related("webhook", "created_by__account").first()
    if delivery is None:
        held.delete()  # its webhook is gone
        return None
    if delivery.attempts and quarantine(Lease(Delivery, delivery_id, owner, delivery.fence)):
        return None
    try:
        if not is_meant(delivery):
            held.delete()
            return None
        if not delivery.webhook.is_enabled:
            held.update(owner=None, retry_at=None)
            return None
        return LoadedDelivery(delivery, dialer_of(delivery.created_by))
    except (SettingError, QueryError) as error:
        return LoadedDelivery(delivery, None, f"It was not sent: {error}")


def is_meant(delivery: Delivery) -> bool:
    """Whether the owner of the webhook may know what it tells of, now, and wants to."""
    owner = delivery.created_by
    if not owner.is_active or not may(owner, Action.READ):
        return False
    kind = delivery.event.partition(".")[0]
    if kind in OF_SOMEBODY:
        rows = OF_SOMEBODY[kind]._default_manager.filter(pk=delivery.object_id)
        return seen_by(viewer_scope(owner), rows).exists()
    if kind == "job":
        return bool(visible_jobs(owner).filter(pk__in=[delivery.object_id]).exists())
    return kind != "snapshot" or _is_chosen(delivery)


def _is_chosen(delivery: Delivery) -> bool:
    pages = visible_snapshots(delivery.created_by).filter(pk__in=[delivery.object_id])
    query = delivery.webhook.query
    return (select(query, viewer_scope(delivery.created_by), among=pages, texts=False) if query else pages).exists()


def release(lease: Lease) -> None:
    """Back to the queue with it."""
    lease.model.rows(pk=lease.pk, fence=lease.fence).release(lease.owner)
