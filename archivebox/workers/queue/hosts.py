"""Politeness: which hosts want no request now, and when the next page of one may begin."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import models
from django.utils import timezone

from archivebox.base_models.prepared import PreparedQuery, Rows
from archivebox.base_models.work import HELD
from archivebox.contract.hooknames import LAST_STEP
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Domain
from archivebox.hooks import base_layers, resolve_settings


def blocked_hosts() -> set[str]:
    """Hosts that want no request now: their next moment has not come, or as many pages as allowed are in flight."""
    settings = resolve_settings(base_layers())
    most = settings.get_int("DOMAIN_CONCURRENCY")
    own_limits: dict[str, int] = dict(_own_limits())
    full = {host for host, pages in _in_flight() if pages >= own_limits.get(host, most)}
    return full | {host for (host,) in _waiting(timezone.now())}


def visited(snapshot_id: UUID) -> None:
    """A page of a host begins: the next one waits for the host's delay, or the one that is set for all."""
    set_for_all = resolve_settings(base_layers()).get_float("DOMAIN_DELAY")
    if not set_for_all and not _own_delays():
        return
    host = Snapshot.objects.values_list("domain", flat=True).get(pk=snapshot_id)
    domain, _ = Domain.objects.get_or_create(name=host)
    delay = domain.delay or set_for_all
    if delay:
        Domain.objects.filter(pk=domain.pk).update(next_at=timezone.now() + timedelta(seconds=delay))


# --- asked at every poll ----------------------------------------------------------------------------------------


@PreparedQuery
def _waiting(now: datetime) -> Rows:
    return Domain.objects.filter(next_at__gt=now).values_list("name")


@PreparedQuery
def _own_limits() -> Rows:
    return Domain.objects.filter(max_parallel__gt=0).values_list("name", "max_parallel")


@PreparedQuery
def _own_delays() -> Rows:
    return Domain.objects.filter(delay__gt=0).values_list("pk")[:1]


@PreparedQuery
def _in_flight() -> Rows:
    """Those in their last step are not counted: they are past everything that asks a host for something."""
    busy = Snapshot.objects.filter(HELD).exclude(current_step=LAST_STEP, status="started")
    return busy.order_by().values_list("domain").annotate(pages=models.Count("pk"))
