"""Owns which query parameters an address of the API knows; another is a mistake, and would count as no wish at all."""

import re
from collections.abc import Collection
from functools import cache, wraps

from django.http import HttpRequest, HttpResponseBase

from archivebox.api.problems import View, answer
from archivebox.api.v1 import PREFIX, description
from archivebox.lib.suggestions import did_you_mean

_CONVERTED = re.compile(r"<(?:\w+:)?(\w+)>")
"""A part of an address that stands for something, as Django writes it."""


def with_known_parameters(address: str, view: View) -> View:
    """``view``, for requests that name nothing else."""
    path = PREFIX + _CONVERTED.sub(r"{\1}", address)

    @wraps(view)
    def asked(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if request.GET:
            known = _known(path, "get" if request.method == "HEAD" else (request.method or "").lower())
            if known is not None and (unknown := sorted(request.GET.keys() - known)):
                name = unknown[0]
                return answer(422, _sentence(name, known), errors=[{"where": f"query.{name}", "detail": "unknown"}])
        return view(request, *args, **kwargs)

    return asked


@cache
def _known(path: str, method: str) -> frozenset[str] | None:
    """As the description of the API has them; None for a method that the address has not."""
    operation = description()["paths"].get(path, {}).get(method)
    if operation is None:
        return None
    return frozenset(one["name"] for one in operation.get("parameters", ()) if one["in"] == "query")


def _sentence(name: str, known: Collection[str]) -> str:
    if not known:
        return f"Nothing was done: there is no parameter {name!r}; this takes none."
    hint = did_you_mean(name, known, f"There are {', '.join(sorted(known))}.", written=repr)
    return f"Nothing was done: there is no parameter {name!r}. {hint}"
