"""Politeness: which hosts want no request now, and when the next page of one may begin.

How many pages of a host are in flight is counted, not stored: a counter on the `Domain` row would have to be corrected
after every crash. The leased Snapshots of a host are few and have an index of their own. `Domain` holds only what
cannot be derived: the next allowed moment, and the host's own delay and limit.
"""

from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models
from django.utils import timezone

from archivebox.base_models.work import HELD
from archivebox.contract.hooknames import LAST_STEP
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import LONGEST_HOLD_OFF, Domain
from archivebox.hooks import base_layers, resolve_settings


class BlockedHosts(NamedTuple):
    """Hosts that want no request now: for a page that never ran, and for one that is tried again."""

    for_fresh: AbstractSet[str]
    for_retries: AbstractSet[str]


def blocked_hosts() -> BlockedHosts:
    """Those whose next moment has not come, and those of which as many pages as allowed are in flight.

    Fresh pages are counted alone: a page that is tried again may wait long for its server, and keeps no other out. It
    begins only where there is room beside all others.
    """
    settings = resolve_settings(base_layers())
    most = settings.get_int("DOMAIN_CONCURRENCY")
    own_limits = _own_limits()
    waiting = set(Domain.objects.filter(next_at__gt=timezone.now()).values_list("name", flat=True))
    in_flight = [(host, pages, fresh, own_limits.get(host, most)) for host, pages, fresh in _in_flight()]
    return BlockedHosts(
        for_fresh=waiting | {host for host, _, fresh, limit in in_flight if fresh >= limit},
        for_retries=waiting | {host for host, pages, _, limit in in_flight if pages >= limit},
    )


def free_places(host: str) -> int:
    """How many fresh pages of a host may begin beside those in flight."""
    own_limits = _own_limits()
    most = own_limits.get(host) or resolve_settings(base_layers()).get_int("DOMAIN_CONCURRENCY")
    return most - sum(int(fresh) for name, _, fresh in _in_flight() if name == host)


def visited(snapshot_id: UUID) -> None:
    """A page of a host begins: the next one waits for the host's delay, or the one that is set for all."""
    set_for_all = resolve_settings(base_layers()).get_float("DOMAIN_DELAY")
    if not set_for_all and not Domain.objects.filter(delay__gt=0).exists():
        return
    host = Snapshot.objects.values_list("domain", flat=True).get(pk=snapshot_id)
    domain, _ = Domain.objects.get_or_create(name=host)
    delay = domain.delay or set_for_all
    if delay:
        Domain.objects.filter(pk=domain.pk).update(next_at=timezone.now() + timedelta(seconds=delay))


def end_impossible_delays() -> int:
    """Forget delays of hosts that end later than any may: a clock that has been set back since wrote them."""
    most = max(LONGEST_HOLD_OFF, resolve_settings(base_layers()).get_float("DOMAIN_DELAY"))
    now, count = timezone.now(), 0
    for domain in Domain.objects.filter(next_at__gt=now + timedelta(seconds=most)):
        if domain.next_at is not None and domain.next_at > now + timedelta(seconds=domain.delay):
            count += Domain.objects.filter(pk=domain.pk, next_at=domain.next_at).update(next_at=None)
    return count


def _own_limits() -> dict[str, int]:
    return dict(Domain.objects.filter(max_parallel__gt=0).values_list("name", "max_parallel"))


def _in_flight() -> models.QuerySet[Snapshot, Any]:
    """By host, how many pages, and how many of them were never sealed before.

    Those in their last step are not counted: they are past everything that asks a host for something.
    """
    busy = Snapshot.objects.filter(HELD).exclude(current_step=LAST_STEP, status="started")
    fresh = models.Count("pk", filter=models.Q(sealed_at__isnull=True))
    return busy.order_by().values_list("domain").annotate(pages=models.Count("pk"), fresh=fresh)
