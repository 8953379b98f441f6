"""Owns the forms that ask for a second factor, at a log-in and before a change, and what they send."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpRequest

from archivebox.accounts.second_factor.answer import FactorAnswer
from archivebox.accounts.second_factor.authenticators import SecondFactors
from archivebox.accounts.second_factor.passkeys import request_options, works_at
from archivebox.web.auth.relying_party import relying_party, why_no_passkeys


@dataclass(frozen=True, slots=True)
class FactorForms:
    """Which forms a page shows. ``no_passkeys``: why the passkeys that the account has are of no use here."""

    asks_code: bool
    asks_recovery_code: bool
    passkey_options: str
    no_passkeys: str


def factor_forms(request: HttpRequest, user: User, challenge: bytes) -> FactorForms:
    """Those for what the account has. ``challenge``: what a passkey is to sign."""
    factors, party = SecondFactors.of(user), relying_party(request)
    options = request_options(party, challenge, user) if party is not None and works_at(party, user) else ""
    elsewhere = ", ".join(sorted({passkey.host for passkey in factors.passkeys}))
    why = "" if options or not elsewhere else why_no_passkeys(request) or f"Your passkeys work at {elsewhere} only."
    return FactorForms(bool(factors.apps), bool(factors.codes_left), options, why)


def answer_in(request: HttpRequest) -> FactorAnswer:
    """What one of the forms has sent."""
    sent = request.POST
    return FactorAnswer(
        sent.get("code", "").strip()[:50], sent.get("recovery_code", "").strip()[:50], sent.get("credential", "")
    )
