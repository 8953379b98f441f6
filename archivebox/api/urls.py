"""The addresses of the API, each with the query parameters that it knows: another is a mistake."""

import re
from collections.abc import Collection
from functools import cache, wraps

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from archivebox.api.idempotency import idempotent
from archivebox.api.problems import View, answer, in_problems
from archivebox.api.v1 import PREFIX, api, description
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


@csrf_exempt
@login_not_required
def not_there(request: HttpRequest, rest: str) -> HttpResponse:
    """Every other address: also the answer to who has no account."""
    del request, rest
    return answer(404, f"There is nothing at this address: {PREFIX}openapi.json lists what there is.")


def _addresses() -> dict[str, View]:
    """Each address once: the framework names one for each of its methods, all with the same view."""
    patterns = [one for one in api.urls[0] if isinstance(one, URLPattern) and one.name != "api-root"]
    return {str(one.pattern): one.callback for one in patterns}


def _asks_for_credentials(view: View) -> View:
    """What asks for a token itself, instead of leading to the log-in page."""
    return login_not_required(in_problems(idempotent(view)))


urlpatterns = [
    *(
        path(f"v1/{address}", _asks_for_credentials(with_known_parameters(address, view)))
        for address, view in _addresses().items()
    ),
    path("<path:rest>", not_there),
]
