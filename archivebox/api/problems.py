"""Problem details (RFC 9457): the one shape of every answer that says no."""

import json
import logging
from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from archivebox.accounts.answers import AlreadyAnsweredError
from archivebox.accounts.people import PeopleError
from archivebox.accounts.permission import may
from archivebox.accounts.roles import Action
from archivebox.base_models.transitions import TransitionRefusedError
from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.core.intake.request import NotForVisitorsError, RequestRefusedError, TooManyUrlsError
from archivebox.core.page_storage.folder import STORE_RETRY_AFTER, STORE_UNAVAILABLE
from archivebox.lib.jsonl import JSON
from archivebox.lib.object_store import ObjectStoreError
from archivebox.lib.problem_details import CONTENT_TYPE, problem
from archivebox.search.backend import RETRY_AFTER, SearchBusyError, SearchUnavailableError
from archivebox.search.query import QueryError

log = logging.getLogger(__name__)

_SET_UP = frozenset({"file", "environment"})
"""Layers of settings that are nobody's request."""
_REFUSALS_SHOWN = 100
_OURS = frozenset({"wanted", "window"})
"""What functions call their parameters, which is nobody else's business."""
View = Callable[..., HttpResponseBase]


class ProblemError(Exception):
    """Why a request is not carried out, in a sentence, with what a program may want to know beside it."""

    def __init__(self, status: int, detail: str, **more: JSON) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.more = more


def answer(status: int, detail: str, **more: JSON) -> HttpResponse:
    """A problem as an answer."""
    response = HttpResponse(json.dumps(problem(status, detail, **more)), status=status, content_type=CONTENT_TYPE)
    if status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Bearer realm="ArchiveBox"'
    if "retry_after" in more:
        response["Retry-After"] = str(more["retry_after"])
    return response


def answer_in_problems(api: NinjaAPI) -> None:
    """Have ``api`` answer every exception with problem details."""
    for kind, handle in _HANDLERS.items():
        api.add_exception_handler(kind, handle)


def _problem(_request: HttpRequest, error: ProblemError) -> HttpResponse:
    return answer(error.status, error.detail, **error.more)


def _not_logged_in(_request: HttpRequest, _error: AuthenticationError) -> HttpResponse:
    return answer(401, "Send a token: `Authorization: Bearer abx_…`. `archivebox token create LABEL` makes one.")


def _http_error(_request: HttpRequest, error: HttpError) -> HttpResponse:
    """Of ninja's own there is one: a body that is not JSON."""
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return answer(400, "The body cannot be read: send JSON in UTF-8, as /api/v1/openapi.json describes it.")
    return answer(error.status_code, str(error))


def _not_there(_request: HttpRequest, _error: Http404) -> HttpResponse:
    return answer(404, "Not found, or not visible to you.")


def _not_valid(_request: HttpRequest, error: ValidationError) -> HttpResponse:
    errors: list[JSON] = [_place(one) for one in error.errors]
    sentence = "; ".join(f"{_where(one)}: {_message_of(one)}" for one in error.errors[:3])
    return answer(422, f"Invalid request. {sentence}.", errors=errors)


def _place(error: Mapping[str, Any]) -> JSON:
    """Where in the request something is wrong, and what; never the value, which may be a secret."""
    return {"where": _where(error), "detail": _message_of(error)}


def _message_of(error: Mapping[str, Any]) -> str:
    return "Unknown field" if error.get("type") == "extra_forbidden" else str(error["msg"])


def _where(error: Mapping[str, Any]) -> str:
    return ".".join(str(word) for word in error["loc"] if word not in _OURS)


def _refused(_request: HttpRequest, _error: TransitionRefusedError) -> HttpResponse:
    return answer(409, "Its state has changed and no longer allows this. Reload it and try again.")


def _request_refused(_request: HttpRequest, error: RequestRefusedError) -> HttpResponse:
    errors: list[JSON] = [
        {"where": f"body.urls.{one.line - 1}", "code": one.code, "detail": one.sentence}
        for one in error.refusals[:_REFUSALS_SHOWN]
    ]
    status = 403 if isinstance(error, NotForVisitorsError) else 422
    return answer(status, str(error), errors=errors or [{"where": f"body.{error.field}", "detail": str(error)}])


def _too_many_urls(_request: HttpRequest, error: TooManyUrlsError) -> HttpResponse:
    return answer(429, str(error), retry_after=error.wait)


def _bad_query(_request: HttpRequest, error: QueryError) -> HttpResponse:
    return answer(422, str(error), position=error.position)


def _no_search(_request: HttpRequest, error: SearchUnavailableError) -> HttpResponse:
    return answer(503, str(error), **({"retry_after": RETRY_AFTER} if isinstance(error, SearchBusyError) else {}))


def _no_store(_request: HttpRequest, error: ObjectStoreError) -> HttpResponse:
    log.warning("%s action=store_failed", error)
    return answer(503, STORE_UNAVAILABLE, retry_after=STORE_RETRY_AFTER)


def _bad_setting(request: HttpRequest, error: SettingError) -> HttpResponse:
    return _misconfigured(request, error) if error.layer in _SET_UP else answer(422, str(error))


def _misconfigured(request: HttpRequest, error: ConfError | SettingError) -> HttpResponse:
    """What the file says may be a secret: who administers the collection is told, others whom to ask."""
    sentence = "The settings of this archive cannot be read. Contact your administrator."
    if may(getattr(request, "auth", None) or request.user, Action.ADMINISTER):
        sentence = f"{error}. Fix it in ArchiveBox.conf or with `archivebox config set`, then try again."
    return answer(503, sentence)


def _no_such_person(_request: HttpRequest, error: PeopleError) -> HttpResponse:
    return answer(422, str(error))


def _too_large(_request: HttpRequest, _error: RequestDataTooBig) -> HttpResponse:
    return answer(413, "Request too large: send it in parts of at most 10 MB.")


def _pass_on(_request: HttpRequest, error: Exception) -> HttpResponse:
    """Leave it to :mod:`archivebox.api.idempotency`, which began what this ends."""
    raise error


def _broken(_request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("The API failed: %s action=api_failed", error, exc_info=error)
    return answer(500, "Internal error. See logs/web.log on the server for details.")


_HANDLERS: dict[type[Exception], Callable[..., HttpResponse]] = {
    AlreadyAnsweredError: _pass_on,
    ProblemError: _problem,
    AuthenticationError: _not_logged_in,
    HttpError: _http_error,
    Http404: _not_there,
    ValidationError: _not_valid,
    TransitionRefusedError: _refused,
    RequestRefusedError: _request_refused,
    TooManyUrlsError: _too_many_urls,
    ConfError: _misconfigured,
    SettingError: _bad_setting,
    PeopleError: _no_such_person,
    QueryError: _bad_query,
    SearchUnavailableError: _no_search,
    ObjectStoreError: _no_store,
    RequestDataTooBig: _too_large,
    Exception: _broken,
}


def in_problems(view: View) -> View:
    """``view``, with an answer in problem details also where the framework itself says no (a method it has not)."""

    @wraps(view)
    def asked(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            given = view(request, *args, **kwargs)
        except ProblemError as error:
            return answer(error.status, error.detail, **error.more)
        if given.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            return given
        refusal = answer(405, f"{request.method} is not allowed here; {given['Allow']} is.")
        refusal["Allow"] = given["Allow"]
        return refusal

    return asked
