"""Owns the pages of the machines that work on this collection."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from archivebox.accounts.permission import visible_processes
from archivebox.accounts.roles import Action
from archivebox.core.progress.machine_work import pages_at_work
from archivebox.machine.models import Binary, Machine
from archivebox.web.auth.page_access import requires


@requires(Action.INSPECT)
def index(request: HttpRequest) -> HttpResponse:
    """All that work, or worked, on it; the last heard of first."""
    machines = [(machine, pages_at_work(machine.pk).count()) for machine in Machine.objects.order_by("-seen_at")]
    return render(request, "web/machines/index.html", {"machines": machines})


@requires(Action.INSPECT)
def one(request: HttpRequest, machine_id: UUID) -> HttpResponse:
    """One: what it is, its programs, and what runs there."""
    machine = get_object_or_404(Machine, pk=machine_id)
    context = {
        "machine": machine,
        "pages": pages_at_work(machine.pk).count(),
        "settings": sorted(machine.config),
        "programs": Binary.objects.filter(machine=machine).order_by("name"),
        "running": visible_processes(request.user).running().filter(machine=machine).count(),
    }
    return render(request, "web/machines/one.html", context)
