"""Owns what becomes of a delivery that was tried: accepted, retried later, or failed, and its webhook with it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from django.db.models import F
from django.utils import timezone

from archivebox.base_models.rows import first_id
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.webhooks.models import AGAIN_AFTER, Delivery, Webhook
from archivebox.webhooks.outbox import reload_subscriptions

KEPT = timedelta(days=30)
"""How long deliveries stay on record."""
BATCH = 100
"""Old deliveries that go each time that one is over."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One try. ``http_status``: 0 where there was no answer; ``problem``: the sentence of why there was none.

    ``retry_after``: seconds for which the receiver wishes to be left alone.
    """

    http_status: int
    took: timedelta
    problem: str = ""
    retry_after: int = 0

    @property
    def is_accepted(self) -> bool:
        return 200 <= self.http_status < 300

    @property
    def sentence(self) -> str:
        """Why it failed."""
        return "" if self.is_accepted else self.problem or f"It answered {self.http_status}, and should answer 2xx."

    def wait(self, failures: int) -> timedelta:
        """How long nothing more is sent after so many tries that failed before: by the list, or as it wishes."""
        usual = AGAIN_AFTER[min(failures, len(AGAIN_AFTER) - 1)]
        return max(usual, timedelta(seconds=min(self.retry_after, Delivery.LONGEST_WAIT.total_seconds())))


def settle(known: Delivery, tried: Tried) -> None:
    """Write down what came of a try, unless the lease is lost or the webhook was removed meanwhile."""
    now = timezone.now()
    with write_transaction():
        held = Delivery.objects.filter(known.guard())
        held.lock()
        delivery = held.select_related("webhook").first()
        if delivery is None:
            return
        columns = {
            "tries": delivery.tries + 1,
            "tried_at": now,
            "took_ms": round(tried.took / timedelta(milliseconds=1)),
            "http_status": tried.http_status,
            "problem": tried.sentence,
            "attempts": 0,
        }
        if tried.is_accepted:
            delivery.transition("succeed", **columns)
            _works(delivery.webhook, now)
        else:
            _has_failed(delivery, tried, columns, now)
        _forget_old(now)


def _works(webhook: Webhook, now: datetime) -> None:
    """It takes messages (again): what was held back for its sake goes now."""
    Webhook.objects.filter(pk=webhook.pk).update(failures=0, succeeded_at=now)
    if webhook.failures:
        _move(webhook, now, tries=0, retry_at__gt=now)
        notify_workers()


def _has_failed(delivery: Delivery, tried: Tried, columns: dict[str, object], now: datetime) -> None:
    webhook = delivery.webhook
    Webhook.objects.filter(pk=webhook.pk).update(failures=F("failures") + 1)
    if tried.http_status == HTTPStatus.GONE:
        delivery.transition("fail", **columns)
        disable(webhook, "It answered 410 (Gone), which ends deliveries.")
    elif delivery.tries < len(AGAIN_AFTER):
        again_at = now + tried.wait(delivery.tries) if webhook.is_enabled else None
        delivery.update_and_requeue(owner=None, retry_at=again_at, **columns)
        until = now + tried.wait(webhook.failures)
        _move(webhook, until, retry_at__lt=until)
    else:
        delivery.transition("fail", **columns)
        if webhook.succeeded_at is None or webhook.succeeded_at < delivery.created_at:
            disable(webhook, f"For three days it took nothing. The last time: {tried.sentence}")


def _move(webhook: Webhook, moment: datetime | None, **which: object) -> None:
    """Give the messages that wait for a webhook, and that nobody is sending, another time; None: they are held."""
    waiting = Delivery.objects.filter(webhook=webhook, status=Delivery.StatusChoices.QUEUED, owner=None, **which)
    waiting.lock()
    waiting.update(retry_at=moment, modified_at=timezone.now())


def disable(webhook: Webhook, problem: str = "") -> None:
    """Send it nothing more; what waits is held. ``problem``: why, where nobody asked for it."""
    with write_transaction():
        Webhook.objects.filter(pk=webhook.pk, disabled_at=None).update(disabled_at=timezone.now(), problem=problem)
        _move(webhook, None)
    reload_subscriptions()


def enable(webhook: Webhook) -> None:
    """Send it messages again, and first those that were held."""
    with write_transaction():
        Webhook.objects.filter(pk=webhook.pk).update(disabled_at=None, problem="", failures=0)
        _move(webhook, timezone.now())
        notify_workers()
    reload_subscriptions()


def send_again(delivery: Delivery) -> bool:
    """Send a message again, with the same key, or now instead of later. False while it is being sent."""
    with write_transaction():
        rows = Delivery.objects.filter(pk=delivery.pk, owner=None)
        rows.lock()
        current = rows.first()
        if current is None:
            return False
        if current.status == Delivery.StatusChoices.QUEUED:
            rows.update(retry_at=timezone.now())
        else:
            current.transition("requeue")
        notify_workers()
    return True


def _forget_old(now: datetime) -> None:
    """Let go of a batch of what was settled long ago."""
    old = Delivery.objects.filter(pk__lt=first_id(now - KEPT), retry_at=None).order_by("pk")
    Delivery.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:BATCH])).delete()
