"""The machines that work on this collection, and their network interfaces."""

import socket
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self, TypeAlias
from uuid import UUID, uuid5

from django.db import models, transaction
from django.utils import timezone

from archivebox.base_models.rows import Row
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.database import is_read_only
from archivebox.config.resolve import SettingsResolver
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import RefusedRecordError, register
from archivebox.lib.interfaces import find_interface
from archivebox.lib.jsonl import JSON
from archivebox.machine.detect import describe_host
from archivebox.machine.machine_id import is_fleet, machine_id

SettingsCheck: TypeAlias = Callable[[Mapping[str, JSON]], dict[str, JSON]]
"""Returns the settings among some values, each checked; ValueError for one that is not allowed."""

ALIVE = timedelta(minutes=2)
"""How long ago the workers of a machine that works may have been heard of."""

_current: dict[str, "Machine"] = {}


class MachineAtWorkError(ValueError):
    """A machine that works cannot be removed; the message says what to do."""


class MachineQuerySet(models.QuerySet["Machine"]):
    """Machines, in the words people ask for them."""

    def kept(self) -> "MachineQuerySet":
        """Those that nobody has removed."""
        return self.filter(removed_at__isnull=True)


class Machine(Row):
    """One machine of this collection. A container that is started again is the same one, a copied folder is another."""

    hostname = models.CharField(max_length=255, default="")
    os_family = models.CharField(max_length=32, default="")
    os_platform = models.CharField(max_length=128, default="")
    os_kernel = models.CharField(max_length=128, default="")
    arch = models.CharField(max_length=32, default="")
    cpu_count = models.IntegerField(default=1)
    memory_bytes = models.BigIntegerField(default=0)
    in_container = models.BooleanField(default=False)
    config = models.JSONField(default=dict, blank=True, help_text="settings of this machine")
    version = models.CharField(max_length=32, default="", help_text="of ArchiveBox")
    seen_at = models.DateTimeField(default=timezone.now, help_text="last beat of its orchestrator")
    load = models.FloatField(null=True, blank=True, help_text="processes that wanted to run in the minute before that")
    drain_by = models.DateTimeField(
        null=True, blank=True, help_text="nothing new begins here, and what still runs then is given back"
    )

    plugins = models.JSONField(default=dict, blank=True, help_text="digests by name, where machines share a database")

    removed_at = models.DateTimeField(null=True, blank=True, help_text="left out of lists until it works again")

    objects = MachineQuerySet.as_manager()

    def __str__(self) -> str:
        return self.hostname or str(self.pk)

    @property
    def is_current(self) -> bool:
        """Whether this process runs on it."""
        return self.pk == Machine.current().pk

    @property
    def state(self) -> str:
        """``working``, ``draining`` or ``offline``. Of one that works alone nothing is heard: it works."""
        if not (self.is_current or self.was_seen_lately):
            return "offline"
        return "working" if self.drain_by is None else "draining"

    @property
    def was_seen_lately(self) -> bool:
        """Whether its workers wrote lately that they are alive, which they do where machines share a database."""
        return self.seen_at >= timezone.now() - ALIVE

    @classmethod
    def current(cls) -> "Machine":
        """The row of the machine this runs on, made on first use."""
        known = _current.get("machine")
        if isinstance(known, cls):
            return known
        facts = {**describe_host(), "removed_at": None}
        if is_read_only(DATA_FOLDER):  # only who reads gets there
            known = cls.objects.filter(pk=machine_id()).first() or cls(**facts)
            _current["machine"] = known
            return known
        machine, created = cls.objects.get_or_create(pk=machine_id(), defaults={**facts, "config": _former_config})
        if not created:
            changed = [name for name, value in facts.items() if getattr(machine, name) != value]
            for name in changed:
                setattr(machine, name, facts[name])
            if changed:
                machine.save(update_fields=[*changed, "modified_at"])
        _current["machine"] = machine
        return machine

    @classmethod
    def from_jsonl(cls, record: Mapping[str, JSON], overrides: Mapping[str, Any] | None = None) -> "Machine":
        """Merge ``config`` of a Machine record into this machine's row: ``{"type": "Machine", "config": {…}}``.

        RefusedRecordError where a setting is not allowed. ``overrides["check_settings"]`` knows those of plugins, too.
        """
        check = (overrides or {}).get("check_settings", SettingsResolver({}).checked)
        return cls.current().change_settings(settings_in(record, check))

    def change_settings(self, changes: Mapping[str, JSON]) -> "Machine":
        """Set or, with None, unset settings that were checked; returns the row as it is then.

        This process knows of it once it is committed.
        """
        with transaction.atomic():  # this object may be older than what another process wrote
            row = type(self).objects.select_for_update().get(pk=self.pk)
            kept = {name: value for name, value in {**row.config, **changes}.items() if value is not None}
            if kept != row.config:
                row.config = kept
                row.save(update_fields=["config", "modified_at"])
            transaction.on_commit(partial(_remember_settings, row))
        return row

    @classmethod
    def refresh_settings(cls) -> None:
        """Read what other processes have set for this machine since."""
        for row in cls.objects.filter(pk=cls.current().pk).only("config", "drain_by"):
            _remember_settings(row)

    def drain(self, within: timedelta) -> None:
        """Have it take no new work; what still runs after so long is released."""
        self._set_drain(timezone.now() + within)

    def resume(self) -> None:
        """Let it work again."""
        self._set_drain(None)

    def remove(self) -> None:
        """Leave it out of lists; its row stays, as what it did refers to it. MachineAtWorkError unless offline."""
        if self.state != "offline":
            raise MachineAtWorkError(
                f"{self} was last seen {ALIVE.seconds // 60} minutes ago or later. Drain it and stop ArchiveBox there, "
                "and remove it then."
            )
        self.removed_at = timezone.now()
        self.save(update_fields=["removed_at", "modified_at"])

    def _set_drain(self, moment: datetime | None) -> None:
        self.drain_by = moment
        with transaction.atomic():
            self.save(update_fields=["drain_by", "modified_at"])
            notify_workers()


def settings_in(record: Mapping[str, JSON], check: SettingsCheck) -> dict[str, JSON]:
    """The settings that a Machine record sets, as ``check`` takes them; RefusedRecordError where it does not."""
    config = record.get("config", {})
    if not isinstance(config, dict):
        raise RefusedRecordError("config is not an object")
    try:
        return check(config)
    except ValueError as error:
        raise RefusedRecordError(str(error)) from None


def _remember_settings(row: Machine) -> None:
    known = _current.get("machine")
    if known is not None and known.pk == row.pk:
        known.config, known.drain_by = row.config, row.drain_by


def forget_current_machine() -> None:
    """Drop the cached row: after a fork to another collection, or between tests."""
    _current.clear()


def _former_config() -> dict[str, JSON]:
    """Settings that this machine had under another name, before its folder was copied or restored."""
    former = None if is_fleet() else Machine.objects.order_by("-seen_at", "-id").first()
    return {} if former is None else former.config


class NetworkInterface(Row):
    """How a machine reached the network at some time."""

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE)
    iface = models.CharField(max_length=32, default="")
    mac_address = models.CharField(max_length=32, default="")
    ip_local = models.GenericIPAddressField(null=True, blank=True)
    ip_public = models.GenericIPAddressField(null=True, blank=True)
    hostname = models.CharField(max_length=255, default="")

    @classmethod
    def with_address(cls, machine_id: UUID, address: str) -> Self:
        """The row of an address that this machine has now, not saved yet: each time the same for one interface."""
        found = find_interface(address)
        return cls(
            pk=uuid5(machine_id, f"{found.name} {found.mac_address} {address}"),
            machine_id=machine_id,
            iface=found.name[:32],
            mac_address=found.mac_address[:32],
            ip_local=address,
            hostname=socket.gethostname(),
        )

    def save_if_new(self) -> None:
        type(self).objects.bulk_create([self], ignore_conflicts=True)

    def __str__(self) -> str:
        return f"{self.iface} {self.ip_local or ''}".strip()


register("Machine", Machine.from_jsonl)
