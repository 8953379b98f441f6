"""Owns in which words and signs pages say who sees a page, and the form that changes it."""

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from archivebox.accounts.permission import may_show
from archivebox.base_models.visibility import Visibility, VisibleRow
from archivebox.web import settings

SEEN_BY = [
    (Visibility.PRIVATE.value, "only its owner"),
    (Visibility.MEMBERS.value, "everyone who is logged in"),
    (Visibility.PUBLIC.value, "everyone" if settings.PUBLIC_SNAPSHOTS else "everyone (public archive is off)"),
]
"""From few to many, so that what is chosen by accident shows least. Settings of the server are read when it starts."""
ICONS = {"public": "globe", "members": "user", "private": "lock"}


class SeenBy(forms.Form):
    """Who is to see it."""

    visibility = forms.ChoiceField(choices=SEEN_BY)


def visibility_sentence(visibility: Visibility) -> str:
    """Who sees something after a change, as a sentence. A public page needs a log-in where the server does."""
    if visibility is Visibility.PUBLIC and not settings.PUBLIC_SNAPSHOTS:
        return "Marked public. Only logged-in users can see it, because PUBLIC_SNAPSHOTS is off."
    return f"Now visible to {dict(SEEN_BY)[visibility]}."


def chosen(request: HttpRequest, row: VisibleRow) -> Visibility | None:
    """Who is to see it, as its owner or an administrator says; None, which they are told, where nobody was chosen."""
    if not may_show(request.user, row):
        raise PermissionDenied
    form = SeenBy(request.POST)
    if form.is_valid():
        return Visibility(form.cleaned_data["visibility"])
    messages.error(request, "Select a visibility.")
    return None
