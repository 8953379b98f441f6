"""Owns in which words and signs pages say who sees a page, and the form that changes it."""

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from archivebox.accounts.permission import may_show
from archivebox.base_models.visibility import Visibility, VisibleRow

SEEN_BY = [
    (Visibility.PRIVATE.value, "its owner alone"),
    (Visibility.MEMBERS.value, "whoever is logged in"),
    (Visibility.PUBLIC.value, "everybody"),
]
"""From few to many, so that what is chosen by accident shows least."""
ICONS = {"public": "globe", "members": "user", "private": "lock"}


class SeenBy(forms.Form):
    """Who is to see it."""

    visibility = forms.ChoiceField(choices=SEEN_BY)


def chosen(request: HttpRequest, row: VisibleRow) -> Visibility | None:
    """Who is to see it, as its owner or an administrator says; None, which they are told, where nobody was chosen."""
    if not may_show(request.user, row):
        raise PermissionDenied
    form = SeenBy(request.POST)
    if form.is_valid():
        return Visibility(form.cleaned_data["visibility"])
    messages.error(request, "Choose who sees it.")
    return None
