"""The machines that work on this collection, and their network interfaces."""

from collections.abc import Mapping
from typing import Any, Self

from django.db import models, transaction
from django.utils import timezone

from archivebox.base_models.rows import Row
from archivebox.contract.records import register
from archivebox.lib.jsonl import JSON
from archivebox.machine.detect import describe_host
from archivebox.machine.machine_id import is_fleet, machine_id

_current: dict[str, "Machine"] = {}


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
    seen_at = models.DateTimeField(default=timezone.now, help_text="last beat of its orchestrator")

    def __str__(self) -> str:
        return self.hostname or str(self.pk)

    @classmethod
    def current(cls) -> Self:
        """The row of the machine this runs on, made on first use."""
        known = _current.get("machine")
        if isinstance(known, cls):
            return known
        facts = describe_host()
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
    def from_jsonl(cls, record: Mapping[str, JSON], overrides: Mapping[str, Any] | None = None) -> Self:
        """Merge ``config`` of a Machine record into this machine's row: ``{"type": "Machine", "config": {…}}``."""
        del overrides
        machine = cls.current()
        config = record.get("config")
        if isinstance(config, dict):
            with transaction.atomic():  # the cached row may be older than what another process merged
                kept = cls.objects.select_for_update().get(pk=machine.pk)
                kept.config = {**kept.config, **config}
                kept.save(update_fields=["config", "modified_at"])
            machine.config = kept.config
        return machine


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

    def __str__(self) -> str:
        return f"{self.iface} {self.ip_local or ''}".strip()


register("Machine", Machine.from_jsonl)
