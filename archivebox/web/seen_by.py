"""Owns in which words and signs pages say who sees a page, and the form that changes it."""

from django import forms

from archivebox.base_models.visibility import Visibility

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
