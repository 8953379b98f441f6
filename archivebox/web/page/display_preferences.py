"""Owns how a person wants pages to look, which a cookie of theirs remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, HttpResponse

from archivebox.web import settings

COOKIE = f"{settings.COOKIE_PREFIX}archivebox_look"
KEPT = 365 * 24 * 3600
"""Seconds that a browser remembers it."""
CHOICES = {
    "theme": ("auto", "light", "dark"),
    "density": ("comfortable", "compact"),
    "view": ("cards", "list", "table"),
    "opens": ("page", "copy", "original"),
}
"""What can be chosen of each; the first is what nobody has chosen."""
COLUMNS = ("when", "host", "status", "kept", "tags", "versions", "size", "quality", "type", "crawl")
"""Of the table, beside the title."""


@dataclass(frozen=True, slots=True)
class DisplayPreferences:
    """What one person has chosen, or not. ``opens``: what a click in a list leads to."""

    theme: str = CHOICES["theme"][0]
    density: str = CHOICES["density"][0]
    view: str = CHOICES["view"][0]
    opens: str = CHOICES["opens"][0]
    columns: tuple[str, ...] = ("when", "host", "status", "kept", "tags", "size")

    def chosen(self, wanted: Mapping[str, str]) -> Self:
        """The same with what of ``wanted`` can be chosen; the rest is nothing to us. Columns: names and commas."""
        valid: dict[str, Any] = {name: wanted[name] for name in CHOICES if wanted.get(name) in CHOICES[name]}
        if "columns" in wanted:
            names = wanted["columns"].split(",")
            valid["columns"] = tuple(name for name in COLUMNS if name in names)
        return replace(self, **valid)

    def keep(self, answer: HttpResponse) -> None:
        """Have the browser remember it."""
        said = {name: getattr(self, name) for name in CHOICES} | {"columns": ",".join(self.columns)}
        answer.set_cookie(
            COOKIE, urlencode(said), max_age=KEPT, secure=settings.BEHIND_HTTPS, httponly=True, samesite="Lax"
        )


def display_preferences_of(request: HttpRequest) -> DisplayPreferences:
    return DisplayPreferences().chosen(dict(parse_qsl(request.COOKIES.get(COOKIE, ""), keep_blank_values=True)))
