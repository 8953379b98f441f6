"""Owns what people may register: which addresses, which events."""

from collections.abc import Sequence

from archivebox.base_models.transactions import write_transaction
from archivebox.lib.networks import NetworkRules
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.webhooks.models import Event, Webhook, new_secret
from archivebox.webhooks.outbox import reload_subscriptions

MOST = 50
"""Webhooks of one account: each is a row for each page."""


class WebhookRefusedError(ValueError):
    """What was asked for cannot be registered; ``field`` is at fault, and the message is a sentence for people."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


def put(webhook: Webhook, reach: NetworkRules) -> None:
    """Write it down, new or changed. ``reach``: where messages of its owner may go. WebhookRefusedError."""
    webhook.url = _checked_url(webhook.url, reach)
    webhook.events = _checked_events(webhook.events)
    with write_transaction():
        if webhook._state.adding:
            if Webhook.objects.filter(created_by=webhook.created_by).count() >= MOST:
                raise WebhookRefusedError("url", f"You have {MOST} webhooks, which is the most: remove one first.")
            webhook.save(force_insert=True)
        else:
            webhook.save(update_fields=["url", "label", "events", "query", "modified_at"])
    reload_subscriptions()


def renew_secret(webhook: Webhook) -> str:
    """A new secret, by which all is signed from now on; messages that wait, too."""
    webhook.secret = new_secret()
    webhook.save(update_fields=["secret", "modified_at"])
    return webhook.secret


def remove(webhook: Webhook) -> None:
    """Forget it, with its deliveries: nothing is sent to it any more."""
    with write_transaction():
        webhook.delete()
    reload_subscriptions()


def _checked_url(text: str, reach: NetworkRules) -> str:
    try:
        url = parse_url(text)
    except BadUrl as error:
        raise WebhookRefusedError("url", f"Invalid URL: {error}.") from None
    if url.scheme not in {"http", "https"}:
        raise WebhookRefusedError("url", "A webhook URL must begin with https:// or http://.")
    if url.username or url.password:
        raise WebhookRefusedError("url", "Leave the password out: every message is signed, which says who sent it.")
    if not reach.admits_host(url.host, url.effective_port or 0):
        raise WebhookRefusedError("url", private(url.host))
    return url.without_fragment


def private(host: str) -> str:
    """Why nothing is sent there, and what to do."""
    return (
        f"{host} is on a private network. An administrator may register it once its name is in "
        "PRIVATE_NETWORK_ALLOWLIST."
    )


def _checked_events(events: Sequence[str]) -> list[str]:
    wanted = [event.value for event in Event if event in events]
    if not wanted or len(wanted) < len(set(events)):
        raise WebhookRefusedError("events", f"Choose at least one event: {', '.join(Event.values)}.")
    return wanted
