"""Owns the pages of the machines that work on this collection, and what administrators change there."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import visible_processes
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.core.progress.machine_work import pages_at_work
from archivebox.machine.host import MachineAtWorkError
from archivebox.machine.models import Binary, Machine
from archivebox.machine.plugin_sets import plugin_differences
from archivebox.web.auth.page_access import allows, requires

DRAIN_WITHIN = timedelta(minutes=10)
_CHANGES: dict[str, tuple[Callable[[Machine], None], str, str]] = {
    "drain": (lambda machine: machine.drain(DRAIN_WITHIN), "machine.drained", "{} takes no new work."),
    "resume": (Machine.resume, "machine.resumed", "{} works again."),
    "remove": (Machine.remove, "machine.removed", "{} is removed. What it did stays on record."),
}


@requires(Action.INSPECT)
def index(request: HttpRequest) -> HttpResponse:
    """All that work, or worked, on it; the last heard of first."""
    rows = list(Machine.objects.kept().order_by("-seen_at"))
    differences = plugin_differences(rows)
    machines = [(machine, pages_at_work(machine.pk).count(), differences.get(machine.pk)) for machine in rows]
    return render(request, "web/machines/index.html", {"machines": machines})


@requires(Action.INSPECT)
def one(request: HttpRequest, machine_id: UUID) -> HttpResponse:
    """One: what it is, its programs, and what runs there."""
    machine = get_object_or_404(Machine, pk=machine_id)
    context = {
        "machine": machine,
        "plugin_difference": plugin_differences([machine]).get(machine.pk),
        "may_change": allows(request, Action.ADMINISTER),
        "drain_minutes": DRAIN_WITHIN.seconds // 60,
        "pages": pages_at_work(machine.pk).count(),
        "settings": sorted(machine.config),
        "programs": Binary.objects.filter(machine=machine).order_by("name"),
        "running": visible_processes(request.user).running().filter(machine=machine).count(),
    }
    return render(request, "web/machines/one.html", context)


@require_POST
@requires(Action.ADMINISTER, to_change=Action.ADMINISTER)
def change(request: HttpRequest, machine_id: UUID) -> HttpResponse:
    """``change``: ``drain``, ``resume``, ``remove``."""
    machine, wanted = get_object_or_404(Machine, pk=machine_id), request.POST.get("change", "")
    if wanted not in _CHANGES:
        raise Http404("no such change")
    make, action, said = _CHANGES[wanted]
    try:
        with write_transaction():
            make(machine)
            audit.record(request.user, action, machine, hostname=machine.hostname)
    except MachineAtWorkError as error:
        messages.error(request, str(error))
        return redirect("machine", machine_id)
    messages.success(request, said.format(machine))
    return redirect("machines") if wanted == "remove" else redirect("machine", machine_id)
