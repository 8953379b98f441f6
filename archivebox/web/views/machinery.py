"""Owns the pages of machines and of processes: what administrators change of the first, and ask of the second.

Of processes: the tree of what runs, what has ended, one of them, and asking it to end.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import (
    processes_among,
    reachable_snapshots,
    viewer_scope,
    visible_crawls,
    visible_processes,
)
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.core.progress.machine_work import pages_at_work
from archivebox.core.progress.process_tree import running_tree
from archivebox.hooks import base_layers, plugins, resolve_settings
from archivebox.machine.host import MachineAtWorkError
from archivebox.machine.logtail import read_tail
from archivebox.machine.models import Binary, Machine, Process
from archivebox.machine.plugin_sets import plugin_differences
from archivebox.web.auth.page_access import allows, requires
from archivebox.web.page.list_paging import page_of, page_within
from archivebox.web.templatetags.processes import FAILED

# --- machines ------------------------------------------------------------------------------------------------------

DRAIN_WITHIN = timedelta(minutes=10)
_CHANGES: dict[str, tuple[Callable[[Machine], None], str, str]] = {
    "drain": (lambda machine: machine.drain(DRAIN_WITHIN), "machine.drained", "{} takes no new work."),
    "resume": (Machine.resume, "machine.resumed", "{} works again."),
    "remove": (Machine.remove, "machine.removed", "{} is removed. What it did stays on record."),
}


@requires(Action.INSPECT)
def list_machines(request: HttpRequest) -> HttpResponse:
    """All that work, or worked, on it; the last heard of first."""
    rows = list(Machine.objects.kept().order_by("-seen_at"))
    differences = plugin_differences(rows)
    machines = [(machine, pages_at_work(machine.pk).count(), differences.get(machine.pk)) for machine in rows]
    return render(request, "web/machines/index.html", {"machines": machines})


@requires(Action.INSPECT)
def show_machine(request: HttpRequest, machine_id: UUID) -> HttpResponse:
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
def change_machine(request: HttpRequest, machine_id: UUID) -> HttpResponse:
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


# --- processes -----------------------------------------------------------------------------------------------------

Shown = TypeVar("Shown", bound=Model)

SHOWN = 16_384
"""Bytes of each output that its page shows; a terminal shows all."""
CHILDREN_SHOWN = 100
BIG_FIELDS = ("stdout", "stderr", "env", "declared")


@requires(Action.INSPECT)
def list_processes(request: HttpRequest) -> HttpResponse:
    """``?part=running``: the tree alone. ``?type=``, ``?plugin=`` and ``?failed=yes`` choose among what has ended."""
    if request.GET.get("part") == "running":
        return render(request, "web/processes/running.html", {"branches": running_tree(viewer_scope(request.user))})
    context = _ended(request) | {"branches": running_tree(viewer_scope(request.user)), "plugins": list(plugins())}
    return render(request, "web/processes/index.html", context)


def _ended(request: HttpRequest) -> dict[str, Any]:
    asked = {name: request.GET.get(name, "") for name in ("type", "plugin", "failed")}
    chosen = Q(process_type=asked["type"]) if asked["type"] in Process.TypeChoices.values else Q()
    chosen &= Q(plugin=asked["plugin"]) if asked["plugin"] else Q()
    chosen &= FAILED if asked["failed"] else Q()
    rows, seen = processes_among(request.user)
    rows, looked_for = rows.exited().defer(*BIG_FIELDS), chosen & seen
    page = page_within(rows, looked_for, request) if looked_for else page_of(rows, request)
    return {
        "page": page, "pages": _pages_of(request, page.rows), "asked": asked,
        "types": Process.TypeChoices.choices, "is_filtered": bool(chosen),
    }  # fmt: skip


def _pages_of(request: HttpRequest, rows: Iterable[Process]) -> dict[UUID, str]:
    """The addresses of the pages that they worked for."""
    keys = {row.snapshot_id for row in rows if row.snapshot_id}
    return dict(reachable_snapshots(request.user).filter(pk__in=keys).values_list("pk", "url"))


@requires(Action.INSPECT)
def show_process(request: HttpRequest, process_id: UUID) -> HttpResponse:
    """One process: its command, its end, the last of what it printed, its parents and children.

    ``?part=now``: only what changes while it runs.
    """
    process = _find(request, process_id)
    now = _now(request, process)
    if request.GET.get("part") == "now":
        return render(request, "web/processes/now.html", now)
    seen = visible_processes(request.user)
    children = list(seen.filter(parent_id=process.pk).defer(*BIG_FIELDS).order_by("pk")[: CHILDREN_SHOWN + 1])
    known = set(seen.filter(pk__in=[row.pk for row in process.ancestors]).values_list("pk", flat=True))
    context = now | {
        "ancestors": [row for row in process.ancestors[::-1] if row.pk in known],
        "children": children[:CHILDREN_SHOWN],
        "pages": _pages_of(request, children),
        "has_more_children": len(children) > CHILDREN_SHOWN,
        "snapshot": _known(reachable_snapshots(request.user), process.snapshot_id),
        "crawl": _known(visible_crawls(request.user), process.crawl_id),
    }
    return render(request, "web/processes/one.html", context)


def _now(request: HttpRequest, process: Process) -> dict[str, Any]:
    return {
        "process": process,
        "outputs": [_output(process, "stdout", "Output"), _output(process, "stderr", "Errors")],
        "growing_parts": ",".join(f"#size-{name},#tail-{name}:innerHTML" for name in ("stdout", "stderr")),
        "is_busy": process.status == Process.StatusChoices.RUNNING,
        "may_end": allows(request, Action.EDIT) and _running_hook(process) is not None,
        "grace": resolve_settings(base_layers()).get("STOP_GRACE"),
    }


def _known(rows: "QuerySet[Shown, Any]", key: UUID | None) -> Shown | None:
    """What it works for, unless that is gone."""
    return None if key is None else rows.filter(pk=key).first()


def _output(process: Process, name: str, title: str) -> dict[str, object]:
    """The last of one output: of the file, where it is still there and here; else of the row."""
    text, size = read_tail(getattr(process, f"{name}_file"), SHOWN)
    if not size:
        text, size = getattr(process, name), getattr(process, f"{name}_size")
    return {"name": name, "title": title, "text": text, "size": size, "is_cut": size > len(text.encode())}


def _running_hook(process: Process) -> Process | None:
    """The hook that a worker would end for it."""
    hook = process.hook
    return hook if hook is not None and hook.status == Process.StatusChoices.RUNNING else None


@require_POST
@requires(Action.EDIT)
def end_process(request: HttpRequest, process_id: UUID) -> HttpResponse:
    """Leave a request with the worker that holds it: no process is signalled from here."""
    process = _find(request, process_id)
    with write_transaction():
        asked = visible_processes(request.user).filter(pk=process.pk).ask_workers_to_end()
        if asked:
            audit.record(_user(request), "process.ended", process, what=process.what)
    if asked:
        messages.success(request, "Stopping the process and its child processes.")
    else:
        messages.error(request, "The process is no longer running, or is not managed by a worker.")
    return redirect("process", process.pk)


def _user(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _find(request: HttpRequest, key: UUID) -> Process:
    found: Process | None = visible_processes(request.user).select_related("machine").filter(pk=key).first()
    if found is None:
        raise Http404("no such process")
    return found
