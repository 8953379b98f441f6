"""Owns how a person wants pages to look, which a cookie of theirs remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self
from urllib.parse import parse_qsl, urlencode

from django.http import HttpRequest, HttpResponse

from archivebox.web import settings

COOKIE = f"{settings.COOKIE_PREFIX}archivebox_look"
KEPT = 365 * 24 * 3600
"""Seconds that a browser remembers it."""
CHOICES = {
    "theme": ("auto", "light", "dark"),
    "density": ("comfortable", "compact"),
}
"""What can be chosen of each; the first is what nobody has chosen."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one person has chosen, or not."""

    theme: str = CHOICES["theme"][0]
    density: str = CHOICES["density"][0]

    def chosen(self, wanted: Mapping[str, str]) -> Self:
        """The same with what of ``wanted`` can be chosen; the rest is nothing to us."""
        names = {field.name for field in fields(self)}
        valid = {name: wanted[name] for name in names & set(wanted) if wanted[name] in CHOICES[name]}
        return replace(self, **valid)

    def keep(self, answer: HttpResponse) -> None:
        """Have the browser remember it."""
        text = urlencode({field.name: getattr(self, field.name) for field in fields(self)})
        answer.set_cookie(COOKIE, text, max_age=KEPT, secure=settings.BEHIND_HTTPS, httponly=True, samesite="Lax")


def look_of(request: HttpRequest) -> Look:
    return Look().chosen(dict(parse_qsl(request.COOKIES.get(COOKIE, ""))))
