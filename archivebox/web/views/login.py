"""Owns how people log in and out: by password, by a link that works once, by a passkey; and the second step.

By a provider: `views/openid.py`.
"""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login as start_session
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from archivebox.accounts import audit, login_log
from archivebox.accounts.login_links import peek_login_link, redeem_login_link
from archivebox.accounts.openid import admission
from archivebox.accounts.openid.provider_settings import openid_settings, provider_for, takes_passwords
from archivebox.accounts.roles import Action
from archivebox.accounts.second_factor.authenticators import SecondFactors
from archivebox.accounts.second_factor.passkeys import accept_passkey, request_options
from archivebox.accounts.second_factor.rows import Passkey
from archivebox.base_models.transactions import write_transaction
from archivebox.web.auth import login_throttle
from archivebox.web.auth.factor_forms import answer_in, factor_forms, relying_party, why_no_passkeys
from archivebox.web.auth.login_steps import PendingLogin, after_password, complete
from archivebox.web.auth.page_access import account_of, ask_to_confirm, is_confirmed, requires
from archivebox.web.auth.sessions import BACKEND, BY_PROVIDER
from archivebox.web.page.redirects import back_to, public_address


@login_not_required
@sensitive_post_parameters()
def password(request: HttpRequest) -> HttpResponse:
    """The log-in page."""
    if request.method != "POST":
        return login_page(request)
    if not takes_passwords():
        return login_page(request, problem="Password login is disabled.", status=403)
    attempt = login_throttle.by_password(request, request.POST.get("username", ""))
    if attempt.wait:
        sentence = f"Too many attempts. Try again in {attempt.wait} seconds."
        answer = login_page(request, problem=sentence, status=429)
        answer["Retry-After"] = str(attempt.wait)
        return answer
    form = AuthenticationForm(request, data=request.POST)
    if not form.is_valid():
        if attempt.limit_is_reached:
            login_log.log_failed_login(login_throttle.account_name(request.POST.get("username", "")))
        return login_page(request, form, problem="Incorrect username or password.", status=403)
    attempt.succeeded()
    return after_password(request, form.get_user(), back_to(request, "snapshots"))


@login_not_required
def admin(request: HttpRequest) -> HttpResponse:
    """Where the admin sends whoever it does not let in: to the log-in page, which opens it to no other account."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect(f"{reverse('login')}?{request.GET.urlencode(safe='/')}")


def login_page(
    request: HttpRequest, form: AuthenticationForm | None = None, *, problem: str = "", status: int = 200
) -> HttpResponse:
    """Every way to come in, and why the last try did not."""
    context = {
        "form": form or AuthenticationForm(request),
        "next": back_to(request, "snapshots"),
        "problem": problem,
        "provider": openid_settings(),
        "takes_passwords": takes_passwords(),
        "has_passkeys": takes_passwords() and Passkey.objects.exists(),
        "no_passkeys": why_no_passkeys(request),
    }
    return render(request, "web/login.html", context, status=status)


@login_not_required
def link(request: HttpRequest, token: str) -> HttpResponse:
    """A link that logs in once. Opening it changes nothing (previews do that too): its button does."""
    attempt = login_throttle.by_link(request)
    if attempt.wait:
        return render(request, "web/link.html", {"user_name": ""}, status=429)
    find = redeem_login_link if request.method == "POST" else peek_login_link
    user_id = find(token)
    user = None if user_id is None else User.objects.filter(pk=user_id, is_active=True).first()
    if user is None:
        return render(request, "web/link.html", {"user_name": ""}, status=403)
    attempt.succeeded()
    if request.method != "POST":
        return render(request, "web/link.html", {"user_name": user.username})
    start_session(request, user, backend=BACKEND)
    if not user.has_usable_password():
        messages.info(request, "Logged in. Set a password now, or later from your account menu.")
    answer = redirect(settings.LOGIN_REDIRECT_URL if user.has_usable_password() else "password")
    login_throttle.remember(answer, user.username)
    return answer


@require_POST
@login_not_required
def leave(request: HttpRequest) -> HttpResponse:
    """End the session; the one at the provider by which it began, too."""
    provider = openid_settings() if request.session.get(BY_PROVIDER) else None
    logout(request)
    here = public_address(request) + reverse("login")
    address = provider_for(provider, here).log_out_address(here) if provider else ""
    if not address:
        return redirect("login")
    return render(request, "web/onward.html", {"address": address, "title": "You are logged out"})


class ChangePasswordForm(PasswordChangeForm):
    """Asks for the old password, guesses of which are limited like those at the log-in."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(account_of(request), request.POST or None)
        self.request = request

    def clean_old_password(self) -> str:
        given: str = self.cleaned_data["old_password"]
        problem, status = login_throttle.own_password_problem(self.request, self.user, given)
        if problem:
            raise ValidationError(problem, code=str(status))
        return given


@requires(Action.OWN, to_change=Action.OWN)
@sensitive_post_parameters()
def change_password(request: HttpRequest) -> HttpResponse:
    """Choose a password, or another one; other sessions of the account end."""
    user = account_of(request)
    if not user.has_usable_password() and len(SecondFactors.of(user)) and not is_confirmed(request):
        return ask_to_confirm(request, "password")  # a new password would confirm the removal of its factors
    form = ChangePasswordForm(request) if user.has_usable_password() else SetPasswordForm(user, request.POST or None)
    form.fields["new_password1"].help_text = "At least ten characters, not only digits, and not a common password."
    form.fields["new_password2"].label, form.fields["new_password2"].help_text = "Repeat password", ""
    if request.method == "POST" and form.is_valid():
        changed = form.save(commit=False)  # hashed before anybody has to wait to write
        with write_transaction():
            changed.save()
            audit.record(user, "user.password", user)
        update_session_auth_hash(request, changed)
        messages.success(request, "Password changed.")
        return redirect("snapshots")
    provider = openid_settings()
    connected = provider is not None and admission.is_connected(provider, user)
    context = {"form": form, "provider": provider, "is_connected": connected}
    status = 429 if form.has_error("old_password", "429") else 422 if form.errors else 200
    return render(request, "web/password.html", context, status=status)


# --- the second step, and passkeys ---------------------------------------------------------------------------------

_EXPIRED = "This log-in has expired. Try again."


@login_not_required
@sensitive_post_parameters()
def second_step(request: HttpRequest) -> HttpResponse:
    """Asks who has given a password for something else."""
    pending = PendingLogin.of(request)
    user = pending.user() if pending else None
    if pending is None or user is None:
        return login_page(request, problem=_EXPIRED, status=403)
    if request.method != "POST":
        return _page(request, pending, user)
    attempt = login_throttle.by_second_factor(request, user.get_username())
    if attempt.wait:
        return _wait(_page(request, pending, user, problem=_too_many(attempt), status=429), attempt)
    if not answer_in(request).accept(user, relying_party(request), pending.challenge):
        if attempt.limit_is_reached:
            login_log.log_failed_factor(user)
        return _page(request, pending, user, problem="Wrong, or used before. Try again.", status=403)
    attempt.succeeded()
    return _completed(request, pending, user)


@require_safe
@login_not_required
def passkey_options(request: HttpRequest) -> HttpResponse:
    """What a browser is asked to sign by a passkey alone."""
    party = relying_party(request)
    if party is None or not takes_passwords():
        raise Http404(why_no_passkeys(request) or "passkeys are turned off")
    pending = PendingLogin.begin(None, back_to(request, "snapshots"))
    answer = HttpResponse(request_options(party, pending.challenge), content_type="application/json")
    pending.keep(answer)
    return answer


@require_POST
@login_not_required
def passkey(request: HttpRequest) -> HttpResponse:
    """Logs in whose passkey has signed."""
    party, pending = relying_party(request), PendingLogin.of(request)
    if party is None or not takes_passwords():
        return login_page(request, problem=why_no_passkeys(request) or "Passkey login is disabled.", status=403)
    if pending is None:
        return login_page(request, problem=_EXPIRED, status=403)
    attempt = login_throttle.by_passkey(request)
    if attempt.wait:
        return _wait(login_page(request, problem=_too_many(attempt), status=429), attempt)
    user = accept_passkey(party, pending.challenge, answer_in(request).passkey)
    if user is None:
        return login_page(request, problem="That passkey is not known here. Log in with your password.", status=403)
    attempt.succeeded()
    return _completed(request, pending, user)


def _completed(request: HttpRequest, pending: PendingLogin, user: User) -> HttpResponse:
    """Of two requests at once the second comes too late."""
    if not pending.spend():
        return login_page(request, problem=_EXPIRED, status=403)
    return complete(request, user, pending.onward)


def _page(
    request: HttpRequest, pending: PendingLogin, user: User, *, problem: str = "", status: int = 200
) -> HttpResponse:
    context = {"problem": problem, "factors": factor_forms(request, user, pending.challenge)}
    return render(request, "web/second_factor/second_step.html", context, status=status)


def _too_many(attempt: login_throttle.LoginAttempt) -> str:
    return f"Too many attempts. Try again in {attempt.wait} seconds."


def _wait(answer: HttpResponse, attempt: login_throttle.LoginAttempt) -> HttpResponse:
    answer["Retry-After"] = str(attempt.wait)
    return answer
