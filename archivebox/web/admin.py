"""Django's admin: the record of processes, and the delays of hosts; all else has a page of ours, or a command.

Its lists never count millions of rows, and nothing changes here behind the engine's back.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.models import Group, User
from django.core.paginator import Paginator
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from archivebox.accounts import audit
from archivebox.base_models.transactions import write_transaction
from archivebox.crawls.crawl import Domain
from archivebox.machine.process import Process
from archivebox.web.templatetags.shown import span

admin.site.unregister([User, Group])  # only accounts/people.py changes accounts: it confirms, and leaves a record

COUNTED = 10_000
"""Rows that are counted: enough to page through by hand; who looks for more filters or searches."""
DRAWN = 500
"""Processes of a tree that are drawn."""

if TYPE_CHECKING:
    AdminBase = admin.ModelAdmin[Any]
    BoundedBase = Paginator[Any]
else:
    AdminBase, BoundedBase = admin.ModelAdmin, Paginator


class BoundedPaginator(BoundedBase):
    """Says "10,000" of everything above: a full count of 5,000,000 rows takes seconds, each time."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, models.QuerySet):
            return int(rows.order_by()[:COUNTED].count())
        return len(rows)


class RowAdmin(AdminBase):
    """The newest first, found through the primary key; nothing can be changed by hand behind the engine's back."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    ordering = ("-id",)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return tuple(map(str, super().get_readonly_fields(request, obj)))

    def has_add_permission(self, request: HttpRequest) -> bool:
        del request
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        del request, obj
        return False


@admin.register(Domain)
class DomainAdmin(RowAdmin):
    """Here alone can the delay between two visits to a host be set."""

    list_display = ("name", "delay", "max_parallel", "next_at")
    search_fields = ("name",)
    readonly_fields = ("name", "next_at")

    def has_change_permission(self, request: HttpRequest, obj: Domain | None = None) -> bool:
        del obj
        return request.user.is_active and request.user.is_staff and request.user.has_perm("crawls.change_domain")


@admin.register(Process)
class ProcessAdmin(RowAdmin):
    list_display = ("id", "process_type", "cmd_summary", "status", "parent_link", "started_at", "duration")
    list_filter = ("process_type", "status", "machine")
    search_fields = ("cmd", "stdout", "stderr")
    list_select_related = ("parent", "machine")
    actions = ("terminate",)
    readonly_fields = ("parent_link", "children_count", "depth", "duration", "tree_view", "full_tree")
    fieldsets = (
        (None, {"fields": ("process_type", "worker_type", "status", "plugin", "hook_name", "cmd", "pwd", "env")}),
        ("Family", {"fields": ("parent_link", "children_count", "depth", "tree_view", "full_tree")}),
        ("Identity", {"fields": ("machine", "boot_id", "pid_ns", "pid", "start_ticks")}),
        ("Life", {"fields": ("timeout", "started_at", "ended_at", "duration", "exit_code", "end_reason", "request")}),
        ("Cost", {"fields": ("user_seconds", "system_seconds", "max_rss")}),
        ("Output", {"fields": ("stdout", "stdout_size", "stderr", "stderr_size", "output_cut")}),
        ("Served", {"fields": ("crawl_id", "snapshot_id", "archiveresult_id", "binary_id")}),
    )

    @admin.display(description="command")
    def cmd_summary(self, obj: Process) -> str:
        return obj.cmd_summary

    @admin.display(description="parent")
    def parent_link(self, obj: Process) -> SafeString | str:
        """Parents may be of another machine, or cleaned up already: no constraint holds them."""
        parent = _known_parent(obj)
        if parent is None:
            return f"{obj.parent_id} (no longer on record)" if obj.parent_id else "-"
        return format_html('<a href="{}">{}</a>', page_of(parent.pk), parent.process_type)

    @admin.display(description="duration")
    def duration(self, obj: Process) -> str:
        if obj.seconds is None:
            return "-"
        return span(obj.seconds) if obj.ended_at else f"{span(obj.seconds)} (running)"

    @admin.display(description="children")
    def children_count(self, obj: Process) -> int:
        return Process.objects.filter(parent_id=obj.pk).count()

    @admin.display(description="depth")
    def depth(self, obj: Process) -> int:
        return obj.depth

    @admin.display(description="from the root to here")
    def tree_view(self, obj: Process) -> SafeString:
        chain = [*reversed(obj.ancestors), obj]
        return _drawn([(depth, process) for depth, process in enumerate(chain)], obj.pk)

    @admin.display(description="the whole tree")
    def full_tree(self, obj: Process) -> SafeString:
        """Parents before children, children in the order of their start."""
        return _drawn(_in_order(obj.root.get_tree()[:DRAWN]), obj.pk)

    def has_terminate_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    @admin.action(description="Have their workers end the chosen hooks", permissions=["terminate"])
    def terminate(self, request: HttpRequest, queryset: "QuerySet[Process]") -> None:
        chosen = Process.objects.filter(pk__in=queryset.values("pk"))
        with write_transaction():
            asked = chosen.ask_workers_to_end()
            audit.record(request.user, "process.ended", processes=[str(one.pk) for one in chosen])
        messages.success(request, f"{asked} of the chosen processes were running hooks: their workers end them.")


def page_of(key: UUID) -> str:
    return reverse("admin:machine_process_change", args=[key])


def _known_parent(obj: Process) -> Process | None:
    if obj.parent_id is None:
        return None
    if Process.parent.is_cached(obj):  # a list brings them along
        return obj.parent
    return Process.objects.filter(pk=obj.parent_id).first()


def _in_order(tree: list[Process]) -> list[tuple[int, Process]]:
    children: dict[UUID | None, list[Process]] = {}
    for process in tree[1:]:
        children.setdefault(process.parent_id, []).append(process)
    found: list[tuple[int, Process]] = []
    waiting = [(0, tree[0])] if tree else []
    while waiting:
        depth, process = waiting.pop()
        found.append((depth, process))
        waiting += [(depth + 1, child) for child in reversed(children.get(process.pk, []))]
    return found


def _drawn(lines: list[tuple[int, Process]], here: UUID) -> SafeString:
    """One line a process: type, program, pid; the one that is looked at in bold."""
    drawn = format_html_join(
        "\n",
        '{}<a href="{}">{}</a>: {} (pid {}) {}',
        (
            (
                "    " * (depth - 1) + "└── " if depth else "",
                page_of(process.pk),
                format_html("<b>{}</b>", process.process_type) if process.pk == here else process.process_type,
                process.hook_name or _program(process),
                process.pid or "?",
                process.status if process.exit_code is None else f"exit {process.exit_code}",
            )
            for depth, process in lines
        ),
    )
    return format_html("<pre>{}</pre>", drawn)


def _program(process: Process) -> str:
    """The program's own name: an interpreter says less than what it runs."""
    words = [str(word) for word in process.cmd]
    if not words:
        return "?"
    name = words[0].rpartition("/")[2]
    return " ".join([name, *words[1:3]]) if name.startswith("python") else name
