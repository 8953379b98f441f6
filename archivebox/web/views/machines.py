"""Owns the pages of the machines that work on this collection."""

from datetime import timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from archivebox.accounts.permission import visible_processes
from archivebox.accounts.roles import Action
from archivebox.machine.models import Binary, Machine
from archivebox.web.auth.page_access import requires

ALIVE = timedelta(minutes=2)
"""How long ago its orchestrator may have been heard of."""


def is_working(machine: Machine) -> bool:
    """Whether it has been heard of, or is this one: a machine that works alone gives no sign of life."""
    return machine.pk == Machine.current().pk or machine.seen_at >= timezone.now() - ALIVE


@requires(Action.INSPECT)
def index(request: HttpRequest) -> HttpResponse:
    """All that work, or worked, on it; the last heard of first."""
    machines = [(machine, is_working(machine)) for machine in Machine.objects.order_by("-seen_at")]
    return render(request, "web/machines/index.html", {"machines": machines})


@requires(Action.INSPECT)
def one(request: HttpRequest, machine_id: UUID) -> HttpResponse:
    """One: what it is, its programs, and what runs there."""
    machine = get_object_or_404(Machine, pk=machine_id)
    context = {
        "machine": machine,
        "is_working": is_working(machine),
        "is_here": machine.pk == Machine.current().pk,
        "settings": sorted(machine.config),
        "programs": Binary.objects.filter(machine=machine).order_by("name"),
        "running": visible_processes(request.user).running().filter(machine=machine).count(),
    }
    return render(request, "web/machines/one.html", context)
