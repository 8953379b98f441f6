"""Owns whether machines that share a database have the same plugins: which set counts, and who differs from it."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Min, Q

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.base_models.work import lease_clock
from archivebox.machine.host import ALIVE, Machine, MachineQuerySet
from archivebox.machine.machine_id import is_fleet

_SHOWN_NAMES = 3


@dataclass(frozen=True, slots=True)
class PluginSet:
    """Machines that have the same plugins, and since when the first of them has."""

    digest: str
    version: str
    machines: int
    since: datetime


def report_plugins(digests: Mapping[str, str]) -> None:
    """Record which plugins this machine has; where they have changed, others compare theirs anew."""
    digest = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
    machine = Machine.current()
    if machine.plugins_digest == digest:
        return
    with write_transaction():
        others = Machine.objects.filter(pk=machine.pk).exclude(plugins_digest=digest)
        if others.update(
            plugins=dict(digests), plugins_digest=digest, plugins_changed_at=lease_clock(), seen_at=lease_clock()
        ):
            notify_workers()
    machine.plugins_digest = digest


def plugins_problem() -> str:
    """How the plugins of this machine differ from those that count; empty where they do not, or it works alone."""
    machine = Machine.current()
    return plugin_problems([machine.pk]).get(machine.pk, "")


def plugin_problems(keys: Iterable[UUID]) -> dict[UUID, str]:
    """The same of each of these machines that differs."""
    if not is_fleet():
        return {}
    counts = digest_that_counts(_sets())
    differing = list(_alive().filter(pk__in=list(keys)).exclude(plugins_digest__in=["", counts])) if counts else []
    if not differing:
        return {}
    model = _voters().filter(plugins_digest=counts).order_by("plugins_changed_at", "pk").first()
    return {} if model is None else {machine.pk: _difference(machine, model) for machine in differing}


def digest_that_counts(sets: Iterable[PluginSet]) -> str:
    """That of the newest version of ArchiveBox; among these of most machines, and else the one that was there first."""
    ranked = sorted(sets, key=lambda one: (_number(one.version), one.machines, -one.since.timestamp(), one.digest))
    return ranked[-1].digest if ranked else ""


def _voters() -> MachineQuerySet:
    """Machines that work, or are about to; those that are drained do neither."""
    return _alive().filter(drain_by__isnull=True).exclude(plugins_digest="")


def _alive() -> MachineQuerySet:
    return Machine.objects.kept().filter(Q(seen_at__gte=lease_clock() - ALIVE) | Q(pk=Machine.current().pk))


def _sets() -> list[PluginSet]:
    groups = _voters().values_list("plugins_digest", "version").annotate(Count("pk"), Min("plugins_changed_at"))
    return [PluginSet(*group) for group in groups.order_by()]


def _number(version: str) -> tuple[int, ...]:
    """Of its release: ``1.10.0.dev3`` → 1, 10, 0."""
    released = re.match(r"[\d.]*", version)
    return tuple(map(int, filter(None, released[0].split(".")))) if released else ()


def _difference(machine: Machine, model: Machine) -> str:
    """In one sentence what differs, and what to do."""
    here, there = _names_of(machine, model)
    if machine.version != model.version:
        return f"{here} has ArchiveBox {machine.version}, and {there} {model.version}: upgrade {here}"
    return "; ".join(_differences(machine.plugins, model.plugins, here, there))


def _differences(own: Mapping[str, str], others: Mapping[str, str], here: str, there: str) -> Iterator[str]:
    if only := sorted(own.keys() - others.keys()):
        yield (
            f"{_listed(only)} {_is(only)} on {here} and not on {there}: "
            f"copy {_folders(only)} to {there}, or remove {_it(only)} from {here}"
        )
    if missing := sorted(others.keys() - own.keys()):
        yield (
            f"{_listed(missing)} {_is(missing)} on {there} and not on {here}: "
            f"copy {_folders(missing)} to {here}, or remove {_it(missing)} from {there}"
        )
    if changed := sorted(name for name in own.keys() & others.keys() if own[name] != others[name]):
        yield (
            f"{_listed(changed)} {'differs' if len(changed) == 1 else 'differ'} between {here} and {there}: "
            f"have the same files in {_folders(changed)} on both, or the same installation of ArchiveBox"
        )


def _listed(names: list[str]) -> str:
    word = "the plugin" if len(names) == 1 else "the plugins"
    shown, more = names[:_SHOWN_NAMES], len(names) - _SHOWN_NAMES
    return f"{word} {', '.join(shown)}{f' and {more} more' if more > 0 else ''}"


def _folders(names: list[str]) -> str:
    return f"plugins/{names[0]}" if len(names) == 1 else "their folders in plugins/"


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _names_of(machine: Machine, model: Machine) -> tuple[str, str]:
    """Their host names; with their ids where these are the same."""
    if str(machine) != str(model):
        return str(machine), str(model)
    return f"{machine} ({machine.pk})", f"{model} ({model.pk})"
