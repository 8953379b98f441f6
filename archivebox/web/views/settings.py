"""Owns the page of the program's own settings, group by group."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from archivebox.accounts.roles import Action
from archivebox.config.core import GROUPS
from archivebox.config.settings import DATA_FOLDER
from archivebox.hooks import base_layers, resolve_settings
from archivebox.web.access import requires
from archivebox.web.setting_form import SettingForm, store


@requires(Action.INSPECT, to_change=Action.ADMINISTER)
def index(request: HttpRequest) -> HttpResponse:
    """``?group=``: which. POST writes them."""
    asked = request.GET.get("group", "")
    group = asked if asked in GROUPS else next(iter(GROUPS))
    resolved = resolve_settings(base_layers())
    form = SettingForm(GROUPS[group], resolved, request.POST if request.method == "POST" else None)
    if form.is_valid() and (names := store(form, request.user)) is not None:
        messages.success(request, f"Changed: {', '.join(names)}." if names else "Nothing was different.")
        return redirect(f"{reverse('settings')}?group={group}")
    context = {
        "form": form,
        "group": group,
        "groups": list(GROUPS),
        "file": DATA_FOLDER.conf,
        "problems": [str(error) for error in resolved.errors],
        "unknown": resolved.unknown,
    }
    return render(request, "web/settings.html", context, status=422 if form.errors else 200)
