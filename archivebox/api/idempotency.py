"""Idempotency keys: a POST that is sent again is not done again: its work and its answer are one transaction."""

import hashlib
from collections.abc import Callable
from functools import wraps

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from archivebox.accounts.answers import AlreadyAnsweredError, Answer
from archivebox.api.credentials import authenticate
from archivebox.api.problems import ProblemError
from archivebox.base_models.transactions import joined_transaction

HEADER = "Idempotency-Key"
LONGEST = 200
_SECRET = "_archivebox_answer_is_secret"  # noqa: S105 - the name of an attribute
View = Callable[..., HttpResponseBase]


def idempotent(view: View) -> View:
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
    who = authenticate(request)
    if isinstance(who, AnonymousUser):
        raise ProblemError(401, f"An {HEADER} needs a token, or a log-in.")
    name = _digest(type(who).__name__, str(who.pk), request.path, key)
    fingerprint = hashlib.sha256(request.body).hexdigest()
    if stored := Answer.find(name):
        return _stored_answer(stored, fingerprint)
    Answer.delete_expired()
    try:
        with joined_transaction(first=lambda: Answer.reserve(name, fingerprint)) as work:
            answer = carry_out()
            if answer.status_code < 400 and isinstance(answer, HttpResponse):
                work.begin()
                _store(name, answer, is_secret=getattr(request, _SECRET, False))
            else:
                work.roll_back()  # it may be sent again
    except AlreadyAnsweredError:
        return _stored_answer(Answer.objects.get(name=name), fingerprint)
    return answer


def show_once(request: HttpRequest) -> None:
    """The answer will hold a secret, which is stored nowhere: sent again, the request has another one."""
    setattr(request, _SECRET, True)


def _store(name: str, answer: HttpResponse, *, is_secret: bool) -> None:
    shown = ("", "") if is_secret else (answer.headers.get("Content-Type", ""), answer.content.decode())
    Answer.store(name, answer.status_code, *shown)


def _stored_answer(row: Answer, fingerprint: str) -> HttpResponse:
    if row.fingerprint != fingerprint:
        raise ProblemError(422, f"This {HEADER} was used for another request. Use a new one.")
    if not row.content_type:
        raise ProblemError(
            409, "This request was completed, and its response held a secret that is shown only once. Create another."
        )
    answer = HttpResponse(row.body, status=row.status, content_type=row.content_type)
    answer["Idempotency-Replayed"] = "true"
    return answer


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
