"""Owns the addresses of the API."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from archivebox.api.idempotency import idempotent
from archivebox.api.parameters import with_known_parameters
from archivebox.api.problems import View, answer, in_problems
from archivebox.api.v1 import PREFIX, api


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
