"""Owns the page of failures: what failed, why, what to do next, and one button to try all of it again."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from archivebox.accounts.permission import viewer_scope
from archivebox.accounts.roles import Action
from archivebox.contract.reasons import OUT_OF_TIME, split
from archivebox.core.progress.failure_groups import COUNTED, FailureGroup, failures_by, sentence_of
from archivebox.hooks import plugins
from archivebox.search.facets import quoted
from archivebox.search.query.keys import shown_host
from archivebox.web.auth.page_access import requires

BY = ("reason", "plugin", "host")


@dataclass(frozen=True, slots=True)
class ListedFailures:
    """One group as the page shows it."""

    title: str
    sentence: str
    action: str
    group: FailureGroup
    query: str
    """The pages that it speaks of."""
    options: dict[str, str]
    """What of these pages is tried again."""
    is_out_of_time: bool = False
    """Whether more time may mend it."""


@requires(Action.READ)
def index(request: HttpRequest) -> HttpResponse:
    """``?by=``: reason, plugin or host."""
    wanted = request.GET.get("by", "")
    by = wanted if wanted in BY else BY[0]
    failures = failures_by(by, viewer_scope(request.user))
    lines = [_LINES[by](group) for group in failures.groups]
    counted = "" if failures.are_all_counted else f"{COUNTED:,}"
    return render(request, "web/failures.html", {"by": by, "choices": BY, "lines": lines, "counted": counted})


def _of_reason(group: FailureGroup) -> ListedFailures:
    sentence, action = sentence_of(group.name)
    code = group.name if '"' not in group.name else group.name.partition(":")[0]
    is_out_of_time = split(group.name)[0] in OUT_OF_TIME
    return ListedFailures(sentence, "", action, group, f"reason:{quoted(code)}", {}, is_out_of_time)


def _of_plugin(group: FailureGroup) -> ListedFailures:
    plugin = plugins().get(group.name)
    title = plugin.title if plugin is not None else ""
    query = f"plugin:{quoted(group.name)} status:failed"
    note = "" if plugin else "This plugin is no longer installed."
    return ListedFailures(title or group.name, note, "", group, query, {"plugins": group.name} if plugin else {})


def _of_host(group: FailureGroup) -> ListedFailures:
    host = shown_host(group.name)
    return ListedFailures(host, "", "", group, f"host:{host} is:failed", {})


_LINES = {"reason": _of_reason, "plugin": _of_plugin, "host": _of_host}
