"""Owns ``/metrics/``, for Prometheus: a token in its header as for the API, a log-in, or a setting opens it."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe
from prometheus_client.exposition import choose_encoder

from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer
from archivebox.api.problems import ProblemError, in_problems
from archivebox.workers.metrics import REGISTRY

_MAY = Bearer(Action.INSPECT)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything that is measured, in the format that was asked for."""
    if not getattr(settings, "PUBLIC_METRICS", False) and _MAY(request) is None:
        raise ProblemError(401, "Metrics need a token that may read: send it as `Authorization: Bearer abx_…`.")
    encode, kind = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(REGISTRY), content_type=kind)


urlpatterns = [path("", login_not_required(in_problems(metrics)), name="metrics")]
