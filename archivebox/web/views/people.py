"""Owns the pages of accounts, for administrators: who may come in, as what, and what everybody changed."""

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from archivebox.accounts import people
from archivebox.accounts.audit import AuditEntry
from archivebox.accounts.people import PeopleError
from archivebox.accounts.roles import Action, Role, role_of
from archivebox.accounts.second_factor import authenticators
from archivebox.base_models.users import SYSTEM
from archivebox.web.auth.page_access import account_of, ask_to_confirm, is_confirmed, requires
from archivebox.web.auth.sessions import end_sessions
from archivebox.web.page.list_paging import page_of
from archivebox.web.page.redirects import public_address

ROLES = [(Role.VIEWER.value, "viewer"), (Role.EDITOR.value, "editor"), (Role.ADMIN.value, "admin")]
SIZE = 50
"""Accounts that are shown at a time."""


class InviteForm(forms.Form):
    username = forms.CharField(label="Name", max_length=150)
    role = forms.ChoiceField(label="Role", choices=ROLES, initial=Role.VIEWER.value)


@requires(Action.ADMINISTER, to_change=Action.ADMINISTER)
def index(request: HttpRequest) -> HttpResponse:
    """POST invites somebody: the answer has the link, once."""
    form, link = InviteForm(request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        try:
            user = people.invite(account_of(request), form.cleaned_data["username"], Role(form.cleaned_data["role"]))
        except PeopleError as problem:
            form.add_error("username", str(problem))
        else:
            link, form = _link(request, user), InviteForm()
    lines = _lines(request.GET.get("after", ""))
    further = lines[SIZE - 1][0].username if len(lines) > SIZE else ""
    context = {"form": form, "link": link, "lines": lines[:SIZE], "further": further, "roles": ROLES}
    return render(request, "web/people.html", context, status=422 if form.errors else 200)


def _lines(after: str) -> list[tuple[User, str, bool]]:
    """Those whose names come after this one, and one more than are shown; each with role and second factor."""
    rows = User.objects.select_related("account").exclude(username=SYSTEM).filter(username__gt=after)
    found = list(rows.order_by("username")[: SIZE + 1])
    protected = authenticators.accounts_with_factors(user.pk for user in found)
    return [(user, role_of(user).value, user.pk in protected) for user in found]


def _link(request: HttpRequest, user: User) -> str:
    return public_address(request) + reverse("login-link", args=[people.invitation(user)])


@require_POST
@requires(Action.ADMINISTER, to_change=Action.ADMINISTER)
def change(request: HttpRequest, user_id: int) -> HttpResponse:
    """``do``: ``role`` (to ``role``), ``disable``, ``enable``, ``reset-factors``."""
    user = get_object_or_404(User.objects.exclude(username=SYSTEM), pk=user_id)
    if request.POST.get("do") == "reset-factors" and not is_confirmed(request):
        return ask_to_confirm(request, "people")
    try:
        messages.success(request, _changed(request, user))
    except PeopleError as problem:
        messages.error(request, str(problem))
    return redirect("people")


def _changed(request: HttpRequest, user: User) -> str:
    wanted, role = request.POST.get("do"), request.POST.get("role", "")
    if wanted == "role" and role in people.ROLES:
        people.set_role(account_of(request), user, Role(role))
        return f"{user.username} is now {role}."
    if wanted == "disable":
        people.disable(account_of(request), user)
        return f"{user.username} is disabled. Sessions and tokens have ended, and schedules are paused."
    if wanted == "enable":
        people.enable(account_of(request), user)
        return f"{user.username} is enabled."
    if wanted == "reset-factors":
        authenticators.reset(account_of(request), user)
        end_sessions(user)
        return f"{user.username} has no second factor now. Sessions have ended."
    raise Http404("no such change")


@requires(Action.ADMINISTER, to_change=Action.ADMINISTER)
def record(request: HttpRequest) -> HttpResponse:
    """What was changed, by whom, the latest first."""
    return render(request, "web/record.html", {"page": page_of(AuditEntry.objects.all(), request)})
