"""Idempotency keys: a POST that is sent again is not done again, and has the same answer."""

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from archivebox.accounts.answers import Answer
from archivebox.api.credentials import who_asks
from archivebox.api.problems import ProblemError

HEADER = "Idempotency-Key"
LONGEST = 200
_SECRET = "_archivebox_answer_is_secret"  # noqa: S105 - the name of an attribute
View = Callable[..., HttpResponseBase]


def once(view: View) -> View:
    """``view``, which does a POST with an Idempotency-Key only once within a day (draft-ietf-httpapi-idempotency)."""

    @wraps(view)
    def asked(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        key = request.headers.get(HEADER)
        if request.method != "POST" or not key:
            return view(request, *args, **kwargs)
        if len(key) > LONGEST:
            raise ProblemError(422, f"An {HEADER} has at most {LONGEST} characters.")
        return _once(request, key, lambda: view(request, *args, **kwargs))

    return asked


def _once(request: HttpRequest, key: str, carry_out: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    who = who_asks(request)
    if isinstance(who, AnonymousUser):
        raise ProblemError(401, f"An {HEADER} needs a token, or a log-in.")
    name = _digest(type(who).__name__, str(who.pk), request.path, key)
    row, is_new = Answer.reserve(name, hashlib.sha256(request.body).hexdigest())
    if not is_new:
        return _given_before(row, request)
    with ExitStack() as not_done:
        not_done.callback(row.delete)  # it may be sent again
        given = carry_out()
        if given.status_code < 400 and isinstance(given, HttpResponse):
            not_done.pop_all()
            _keep(row, given, is_secret=getattr(request, _SECRET, False))
    return given


def show_once(request: HttpRequest) -> None:
    """The answer will hold a secret, which is stored nowhere: sent again, the request has another one."""
    setattr(request, _SECRET, True)


def _keep(row: Answer, given: HttpResponse, *, is_secret: bool) -> None:
    kept = ("", "") if is_secret else (given.headers.get("Content-Type", ""), given.content.decode())
    row.keep(given.status_code, *kept)


def _given_before(row: Answer, request: HttpRequest) -> HttpResponse:
    if row.fingerprint != hashlib.sha256(request.body).hexdigest():
        raise ProblemError(422, f"This {HEADER} was used for another request: take a new one.")
    if row.status is None:
        raise ProblemError(409, f"The first request with this {HEADER} is still being carried out: try again soon.")
    if not row.content_type:
        raise ProblemError(409, "This was done, and its answer held a secret, which is shown once: make another.")
    answer = HttpResponse(row.body, status=row.status, content_type=row.content_type)
    answer["Idempotency-Replayed"] = "true"
    return answer


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
