"""Owns a crawl's network policy, from its rows: its rules, its limit, and what happens when the limit is reached."""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User

from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.config.resolve import Resolved, SettingError
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.reasons import Reason
from archivebox.core.intake.add_urls import networks_of
from archivebox.core.snapshot import Snapshot
from archivebox.crawls import control
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib.egress import ConnectionLog, ConnectionPolicy, Dialer, DialRules, Endpoint, Upstream
from archivebox.lib.networks import NOTHING_OPENED, IPAddress, NetworkRules
from archivebox.lib.quantities import size
from archivebox.lib.urls import parse_url
from archivebox.machine.process import Process
from archivebox.storage.layout import egress_dir


class Facts(NamedTuple):
    """What holds for one crawl."""

    folder: Path
    reach: NetworkRules
    upstream: Upstream | None
    max_size: int | None

    def policy(
        self, is_named: Callable[[Endpoint], Awaitable[bool]], ours: AbstractSet[int], hooks: "Hooks"
    ) -> ConnectionPolicy:
        dialer = Dialer(DialRules(self.reach, is_named, self.upstream, ours, hooks.listen_alone))
        return ConnectionPolicy(
            dialer, ConnectionLog(egress_dir(self.folder), DATA_FOLDER.make_folder), self.max_size, hooks.password
        )


class Hooks(NamedTuple):
    """What the proxy knows of a crawl's hooks."""

    password: str
    listen_alone: Callable[[IPAddress, int], Awaitable[bool]]
    """Whether they, and what they have started, alone listen at an address of this machine."""


def read_facts(crawl_id: UUID) -> Facts:
    """Crawl.DoesNotExist; SettingError where a setting cannot be understood."""
    crawl = Crawl.objects.get(pk=crawl_id)
    return facts_of(crawl.local_path, resolve_settings(crawl.layers()))


def facts_of(folder: Path, settings: Resolved) -> Facts:
    """What settings say for a crawl whose folder this is; SettingError where one cannot be understood."""
    return Facts(folder, NetworkRules(*networks_of(settings)), _upstream_of(settings), settings.find_int("MAX_SIZE"))


def reach_of(person: User) -> NetworkRules:
    """Where messages that somebody wants sent may go; what settings open of private networks is for administrators."""
    opened, own_ports = networks_of(resolve_settings(base_layers()))
    return NetworkRules(opened if may(person, Action.ADMINISTER) else NOTHING_OPENED, own_ports)


def dialer_of(person: User) -> Dialer:
    """What connects for such messages; SettingError where a setting cannot be understood."""
    return Dialer(DialRules(reach_of(person), upstream=_upstream_of(resolve_settings(base_layers()))))


def _upstream_of(settings: Resolved) -> Upstream | None:
    proxy = settings.get_text("PROXY")
    try:
        return Upstream.parse(proxy) if proxy else None
    except ValueError as error:
        raise SettingError(settings.explain("PROXY")[-1][0], "PROXY", str(error)) from None


def is_named(crawl_id: UUID, place: Endpoint) -> bool:
    """Whether somebody who may do so gave the crawl this host at this port."""
    given = Snapshot.objects.filter(crawl_id=crawl_id)
    return any(given.named_at(parse_url(f"{scheme}://{place}/")).exists() for scheme in ("http", "https"))


def crawl_of(mark: str) -> tuple[UUID | None] | None:
    """The crawl that a marked process serves, if any; None while its mark is on no record."""
    try:
        found: tuple[UUID | None] | None = Process.objects.filter(pk=UUID(mark)).values_list("crawl_id").first()
    except ValueError:  # nothing keeps a program from another value
        return (None,)
    return found


def stop_full_crawl(crawl_id: UUID) -> None:
    """It has received as much as it may: end it, and say why."""
    crawl = Crawl.objects.get(pk=crawl_id)
    most = resolve_settings(crawl.layers()).find_int("MAX_SIZE")
    with write_transaction():
        if control.cancel(crawl):
            Crawl.objects.filter(pk=crawl_id).update(reason=Reason.SIZE_REACHED.of(size(most)))
