"""Owns the pages of schedules: the list, one with its crawls, and the form that makes or changes one."""

from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID
from zoneinfo import available_timezones

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from archivebox.accounts import audit
from archivebox.accounts.permission import may_show, requester_of, viewer_scope, visible_crawls, visible_schedules
from archivebox.accounts.roles import Action
from archivebox.base_models.transactions import write_transaction
from archivebox.contract.schema import string_list
from archivebox.core.intake import schedules
from archivebox.core.intake.parse_input import parse_strictly
from archivebox.core.intake.request import (
    SENTENCES_SHOWN,
    CrawlRequest,
    DuplicatePolicy,
    Requester,
    RequestRefusedError,
)
from archivebox.core.progress.crawl_progress import sizes_of
from archivebox.crawls.crawl import Crawl
from archivebox.crawls.recurrence import times, zone_of
from archivebox.crawls.schedule import CrawlSchedule, Template
from archivebox.lib.jsonl import JSON
from archivebox.web.auth.page_access import account_of, requires
from archivebox.web.page.crawl_form import CrawlForm, kinds_of
from archivebox.web.page.list_paging import page_of

USUAL = ("hourly", "daily", "weekly", "monthly", "every 6 hours", "every 2 days", "0 6 * * MON-FRI", "30 22 * * SUN")
"""Times that are offered while somebody types."""
TIMES_SHOWN = 4


class ScheduleForm(CrawlForm):
    """What is archived again and again, and when."""

    label = forms.CharField(label="Name", required=False, max_length=255)
    schedule = forms.CharField(
        label="When",
        max_length=64,
        initial="daily",
        help_text="A word such as daily, an interval such as 6h, or a cron expression with five fields.",
        widget=forms.TextInput(attrs={"list": "usual", "spellcheck": "false", "autocomplete": "off"}),
    )
    timezone = forms.CharField(
        label="Time zone",
        max_length=64,
        initial="UTC",
        widget=forms.TextInput(attrs={"list": "zones", "spellcheck": "false", "autocomplete": "off"}),
    )
    overlap = forms.ChoiceField(
        label="If its last crawl is still running", choices=CrawlSchedule.Overlap.choices, initial="wait"
    )
    catch_up = forms.ChoiceField(label="Missed times", choices=CrawlSchedule.CatchUp.choices, initial="once")
    recapture = forms.ChoiceField(
        label="Links that it has already archived",
        choices=[("", "only new ones"), ("yes", "all, each time")],
        required=False,
    )

    unchanged = forms.ChoiceField(
        label="Pages that have not changed",
        choices=[
            ("", "save each version"),
            ("linked", "save, sharing files with the previous version"),
            ("look", "only record that they were checked"),
        ],
        required=False,
    )

    def request_for(self, schedule: CrawlSchedule) -> CrawlRequest:
        """What each crawl of it is made of; settings that it has and that this form does not speak of stay."""
        known: dict[str, JSON] = schedule.template.get("config", {})
        others = {
            name: value for name, value in known.items() if name not in {"URL_SCOPE", "PLUGINS", "KEEP_UNCHANGED"}
        }
        unchanged = self.cleaned_data["unchanged"]
        only_changed = DuplicatePolicy.IF_CHANGED if unchanged == "look" else DuplicatePolicy.CAPTURE
        if unchanged == "linked":
            others["KEEP_UNCHANGED"] = "linked"
        return self.request(config=others, duplicates=only_changed)

    def put_into(self, schedule: CrawlSchedule, who: Requester) -> None:
        """Write it into a row. RequestRefusedError where something of it cannot be archived."""
        request, asked = self.request_for(schedule), self.cleaned_data
        schedule.template = request.template(seed.url for seed in parse_strictly(request, who))
        for name in ("label", "schedule", "timezone", "overlap", "catch_up"):
            setattr(schedule, name, asked[name])
        schedule.recapture = bool(asked["recapture"])


@dataclass(frozen=True, slots=True)
class ListedSchedule:
    """One schedule as the list shows it."""

    schedule: CrawlSchedule
    when: str
    last: Crawl | None


@requires(Action.READ)
def index(request: HttpRequest) -> HttpResponse:
    """Schedules, the newest first, each with its next time and its last crawl."""
    newest = visible_crawls(request.user).filter(schedule=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    page = page_of(visible_schedules(request.user).annotate(last=Subquery(newest)), request)
    crawls = visible_crawls(request.user).in_bulk([row.last for row in page.rows if row.last])
    lines = [ListedSchedule(row, _when(row), crawls.get(row.last)) for row in page.rows]
    return render(request, "web/schedules/index.html", {"page": page, "lines": lines})


@requires(Action.READ)
def one(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """One schedule: what it archives, its next times, and its crawls."""
    schedule = _find(request, schedule_id)
    page = page_of(visible_crawls(request.user).filter(schedule=schedule), request)
    sizes = sizes_of(page.rows, viewer_scope(request.user))
    context = {
        "schedule": schedule, "when": _when(schedule), "times": _times(schedule), "page": page,
        "running": schedules.unended(schedule), "lines": list(zip(page.rows, sizes, strict=True)),
    }  # fmt: skip
    return render(request, "web/schedules/one.html", context)


@requires(Action.EDIT)
def new(request: HttpRequest) -> HttpResponse:
    """The form of a new one; POST makes it."""
    schedule = CrawlSchedule(created_by=account_of(request))
    if request.method != "POST":
        return _form_page(
            request, ScheduleForm(initial={"urls": request.GET.get("url", "")}, user=request.user), schedule
        )
    return _save_schedule(request, ScheduleForm(request.POST, user=request.user), schedule)


@requires(Action.EDIT)
def change(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """The form of one that is there; POST changes it."""
    schedule = _find(request, schedule_id)
    if request.method != "POST":
        return _form_page(request, ScheduleForm(initial=_initial(schedule), user=request.user), schedule)
    return _save_schedule(request, ScheduleForm(request.POST, user=request.user), schedule)


def _initial(schedule: CrawlSchedule) -> dict[str, Any]:
    made: Template = schedule.template
    chosen = string_list(made["config"].get("PLUGINS"))
    kinds = kinds_of(chosen)
    names = ("label", "schedule", "timezone", "overlap", "catch_up")
    return {
        **{name: getattr(schedule, name) for name in names},
        "urls": "\n".join(made["urls"]),
        "depth": made["max_depth"],
        "tags": ", ".join(made["tags"]),
        "persona": made["persona"],
        "scope": made["config"].get("URL_SCOPE", "all"),
        "plugins": [] if kinds else chosen,
        **({"keep": kinds} if kinds else {}),
        "recapture": "yes" if schedule.recapture else "",
        "visibility": schedule.visibility,
        "unchanged": {"linked": "linked", False: "look"}.get(made["config"].get("KEEP_UNCHANGED", True), ""),
    }


def _save_schedule(request: HttpRequest, form: ScheduleForm, schedule: CrawlSchedule) -> HttpResponse:
    """Write it down, or say what is wrong with which field, and write nothing."""
    if form.is_valid():
        try:
            form.put_into(schedule, requester_of(request.user))
            if may_show(request.user, schedule):
                schedule.visibility = form.cleaned_data["visibility"] or schedule.visibility
            _put(request, schedule)
        except RequestRefusedError as error:
            form.add_error(
                "urls",
                ValidationError(
                    [f"Line {one.line}: {one.sentence}" for one in error.refusals[:SENTENCES_SHOWN]] or str(error)
                ),
            )
        except ValueError as error:
            form.add_error("timezone" if "time zone" in str(error) else "schedule", str(error))
        else:
            messages.success(request, f"Scheduled “{schedule}”: {_when(schedule)}.")
            return redirect("schedule", schedule.pk)
    return _form_page(request, form, schedule, status=422)


def _put(request: HttpRequest, schedule: CrawlSchedule) -> None:
    action = "schedule.created" if schedule._state.adding else "schedule.changed"
    with write_transaction():
        schedules.put(schedule)
        audit.record(request.user, action, schedule, schedule=schedule.schedule, timezone=schedule.timezone)


def _form_page(request: HttpRequest, form: ScheduleForm, schedule: CrawlSchedule, status: int = 200) -> HttpResponse:
    context = {
        "form": form, "schedule": schedule, "can_show": may_show(request.user, schedule),
        "is_new": schedule._state.adding, "usual": USUAL,
        "zones": sorted(available_timezones()),
    }  # fmt: skip
    return render(request, "web/schedules/form.html", context, status=status)


@require_POST
def do(request: HttpRequest, schedule_id: UUID) -> HttpResponse:
    """``change``: ``pause``, ``resume``, ``run``, ``remove``."""
    schedule = _find(request, schedule_id)
    wanted = request.POST.get("change", "")
    if wanted not in _CHANGES:
        raise Http404("no such change")
    try:
        with write_transaction():
            audit.record(request.user, f"schedule.{wanted}", schedule)
            messages.success(request, _CHANGES[wanted](schedule))
    except (ValueError, schedules.StillRunningError) as error:
        messages.error(request, str(error))
    return redirect("schedules") if wanted == "remove" else redirect("schedule", schedule_id)


def _pause(schedule: CrawlSchedule) -> str:
    schedules.pause(schedule)
    return "Paused. Running crawls continue."


def _resume(schedule: CrawlSchedule) -> str:
    schedules.resume(schedule)
    return "Resumed. It runs at its next scheduled time."


def _run(schedule: CrawlSchedule) -> str:
    schedules.run_now(schedule)
    return "Crawl queued. The schedule is unchanged."


def _remove(schedule: CrawlSchedule) -> str:
    schedules.remove(schedule)
    return "Schedule removed. Archived pages are kept."


_CHANGES = {"pause": _pause, "resume": _resume, "run": _run, "remove": _remove}


def _find(request: HttpRequest, schedule_id: UUID) -> CrawlSchedule:
    return get_object_or_404(visible_schedules(request.user), pk=schedule_id)


def _when(schedule: CrawlSchedule) -> str:
    try:
        return str(schedule.recurrence)
    except ValueError as error:
        return str(error)


def _times(schedule: CrawlSchedule) -> list[str]:
    """Its next times, by its own clocks; none of one that is paused, or that cannot be understood."""
    if schedule.next_at is None:
        return []
    try:
        zone = zone_of(schedule.timezone)
        found = islice(times(schedule.recurrence, schedule.next_at), TIMES_SHOWN)
        return [f"{moment.astimezone(zone):%a %Y-%m-%d %H:%M}" for moment in found]
    except ValueError:
        return []
