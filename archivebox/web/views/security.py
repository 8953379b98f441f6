"""Owns the pages of how one's own account is opened: its second factors, and confirming that it is one's own."""

import secrets
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from archivebox.accounts import login_log
from archivebox.accounts.roles import Action
from archivebox.accounts.second_factor import apps, authenticators, passkeys
from archivebox.accounts.second_factor.authenticators import SecondFactorError, SecondFactors
from archivebox.accounts.second_factor.passkeys import PasskeyError
from archivebox.accounts.second_factor.rows import AuthenticatorApp, Passkey
from archivebox.web.auth import login_throttle, page_access
from archivebox.web.auth.factor_forms import answer_in, factor_forms, host_name, relying_party, why_no_passkeys
from archivebox.web.auth.page_access import account_of, confirmed, requires
from archivebox.web.auth.sessions import end_sessions
from archivebox.web.page.redirects import back_to

_CHALLENGE = "passkey_challenge"
_KINDS: dict[str, type[AuthenticatorApp | Passkey]] = {"app": AuthenticatorApp, "passkey": Passkey}


class FactorForm(forms.Form):
    label = forms.CharField(label="Name", max_length=100)


class AppForm(FactorForm):
    """``sealed``: the secret that the page shows, for its owner alone."""

    sealed = forms.CharField(widget=forms.HiddenInput)
    code = forms.CharField(
        label="Code that the app shows",
        max_length=20,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "one-time-code", "spellcheck": "false"}),
    )


@require_safe
@requires(Action.OWN)
def index(request: HttpRequest) -> HttpResponse:
    """How the account is opened."""
    user = account_of(request)
    context = {
        "factors": SecondFactors.of(user),
        "no_passkeys": why_no_passkeys(request),
    }
    return render(request, "web/second_factor/security.html", context)


@requires(Action.OWN, to_change=Action.OWN)
@confirmed
@sensitive_post_parameters()
@sensitive_variables("secret")
def add_app(request: HttpRequest) -> HttpResponse:
    """Shows a secret; POST sends the first code of the app that knows it."""
    user, form = account_of(request), AppForm(request.POST or None, initial={"label": "Authenticator app"})
    secret = (apps.unseal(request.POST.get("sealed", ""), user) if form.is_bound else None) or apps.new_secret()
    if form.is_valid():
        app = apps.new_app(user, form.cleaned_data["label"], secret, form.cleaned_data["code"])
        if app is not None:
            return _add(request, app)
        form.add_error("code", "Not the code of this QR code. Check the clock of your phone, and enter the next code.")
    context = {
        "form": form,
        "sealed": apps.seal(secret, user),
        "secret": " ".join(secret[begin : begin + 4] for begin in range(0, len(secret), 4)),
        "picture": qr_code(apps.provisioning_address(secret, user, host_name(request))),
    }
    return render(request, "web/second_factor/add_app.html", context, status=422 if form.errors else 200)


@requires(Action.OWN, to_change=Action.OWN)
@confirmed
def add_passkey(request: HttpRequest) -> HttpResponse:
    """Asks the browser for a passkey; POST sends its answer."""
    user, party = account_of(request), relying_party(request)
    form, problem = FactorForm(request.POST or None, initial={"label": "Passkey"}), why_no_passkeys(request)
    if party is not None and form.is_valid():
        challenge, answer = _pop_challenge(request), request.POST.get("credential", "")
        try:
            return _add(request, passkeys.new_passkey(party, user, form.cleaned_data["label"], challenge, answer))
        except PasskeyError as error:
            problem = str(error)
    options = "" if party is None else passkeys.creation_options(party, user, _new_challenge(request))
    context = {"form": form, "options": options, "problem": problem}
    status = 422 if problem or form.errors else 200
    return render(request, "web/second_factor/add_passkey.html", context, status=status)


@require_POST
@requires(Action.OWN, to_change=Action.OWN)
@confirmed
def change(request: HttpRequest, kind: str, factor_id: UUID) -> HttpResponse:
    """``do``: ``rename`` (to ``label``), ``remove``."""
    if kind not in _KINDS:
        raise Http404("no such kind")
    user = account_of(request)
    factor = get_object_or_404(_KINDS[kind], pk=factor_id, user=user)
    label = " ".join(request.POST.get("label", "").split())[:100]
    if request.POST.get("do") == "rename" and label:
        authenticators.rename(user, factor, label)
    elif request.POST.get("do") == "remove":
        try:
            authenticators.remove(user, factor)
            end_sessions(user, but=request.session.session_key)
            messages.success(request, f"Removed “{factor.label}”. Your other sessions have ended.")
        except SecondFactorError as problem:
            messages.error(request, str(problem))
    return redirect("security")


@require_POST
@requires(Action.OWN, to_change=Action.OWN)
@confirmed
def renew_codes(request: HttpRequest) -> HttpResponse:
    """Ten new recovery codes; the answer has them, once."""
    try:
        return _codes(request, authenticators.make_recovery_codes(account_of(request)), "The old codes no longer work.")
    except SecondFactorError as problem:
        messages.error(request, str(problem))
        return redirect("security")


@requires(Action.OWN, to_change=Action.OWN)
@sensitive_post_parameters()
def confirm(request: HttpRequest) -> HttpResponse:
    """Asks for the password, or a second factor, before a change."""
    user, problem, status = account_of(request), "", 200
    if request.method == "POST":
        problem, status = _confirmation_problem(request, user)
        if not problem:
            page_access.confirm(request)
            return redirect(back_to(request, "security"))
    context = {
        "next": back_to(request, "security"),
        "why": page_access.why_confirm(request, back_to(request, "security")),
        "problem": problem,
        "factors": factor_forms(request, user, _new_challenge(request)),
    }
    return render(request, "web/second_factor/confirm.html", context, status=status)


def _confirmation_problem(request: HttpRequest, user: User) -> tuple[str, int]:
    """Why it is not confirmed, with the status of that page; an empty text where it is."""
    challenge = _pop_challenge(request)
    if "password" in request.POST:
        return login_throttle.own_password_problem(request, user, request.POST["password"])
    attempt = login_throttle.by_second_factor(request, user.get_username())
    if attempt.wait:
        return f"Too many attempts. Try again in {attempt.wait} seconds.", 429
    if not answer_in(request).accept(user, relying_party(request), challenge):
        if attempt.limit_is_reached:
            login_log.log_failed_factor(user)
        return "Wrong, or used before. Try again.", 403
    attempt.succeeded()
    return "", 200


def _add(request: HttpRequest, factor: AuthenticatorApp | Passkey) -> HttpResponse:
    """Save it, and show the recovery codes that come with the first, once."""
    try:
        codes = authenticators.add(account_of(request), factor)
    except SecondFactorError as problem:
        messages.error(request, str(problem))
        return redirect("security")
    end_sessions(account_of(request), but=request.session.session_key)
    if codes:
        return _codes(request, codes, "Your second factor is set up. Your other sessions have ended.")
    messages.success(request, "Added. Your other sessions have ended.")
    return redirect("security")


def _codes(request: HttpRequest, codes: list[str], sentence: str) -> HttpResponse:
    context = {"codes": codes, "sentence": sentence}
    return render(request, "web/second_factor/recovery_codes.html", context)


def _new_challenge(request: HttpRequest) -> bytes:
    """What a passkey is to sign on the page that is shown now."""
    challenge = secrets.token_bytes(32)
    request.session[_CHALLENGE] = challenge.hex()
    return challenge


def _pop_challenge(request: HttpRequest) -> bytes:
    """That of the page that was shown last; one that nobody can sign where there is none."""
    known = request.session.pop(_CHALLENGE, "")
    return bytes.fromhex(known) if known else secrets.token_bytes(32)


def qr_code(text: str) -> str:
    """The address of a picture of it, dark on light whatever the page looks like: cameras read no other."""
    import segno  # 40 ms of a start that shows none

    return segno.make_qr(text, error="m").svg_data_uri(scale=5, border=4, dark="#000", light="#fff")
