"""Owns the forms that ask for a second factor, what they send, and under which host name passkeys are made here.

That name is one that the settings name, never one that a request makes up.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.http import HttpRequest

from archivebox.accounts.second_factor.answer import FactorAnswer
from archivebox.accounts.second_factor.authenticators import SecondFactors
from archivebox.accounts.second_factor.passkeys import RelyingParty, request_options, works_at
from archivebox.lib.networks import literal
from archivebox.web import settings
from archivebox.web.page.redirects import public_address

_PORTS = {"http": 80, "https": 443}


def relying_party(request: HttpRequest) -> RelyingParty | None:
    """For whom this page may ask for a passkey; None where :func:`why_no_passkeys` says why it may not."""
    return None if why_no_passkeys(request) else RelyingParty(host_name(request), _origin(request))


def host_name(request: HttpRequest) -> str:
    """Under which people reach this app, without the port."""
    return _host(public_address(request))


def why_no_passkeys(request: HttpRequest) -> str:
    """Why browsers make no passkeys for this page (WebAuthn, sections 5.1.2 and 13.4.9); empty where they do."""
    here, wanted = f"{request.scheme}://{request.get_host()}", _origin(request)
    host = _host(wanted)
    if _normal(here) != wanted:
        return f"Passkeys work at {wanted} only. Open this page there."
    if literal(host) is not None:
        sentence = "Passkeys need a host name, and this page is open at an IP address."
        port = urlsplit(wanted).port
        is_here = literal(host).is_loopback  # type: ignore[union-attr]  # it is an address
        return f"{sentence} Open it at http://localhost{f':{port}' if port else ''} instead." if is_here else sentence
    if not wanted.startswith("https://") and not (host == "localhost" or host.endswith(".localhost")):
        return "Passkeys need https."
    if not settings.ORIGIN and host not in settings.ALLOWED_HOSTS:
        return "Passkeys need BASE_URL: ALLOWED_HOSTS lists this host name by a pattern only."
    return ""


def _origin(request: HttpRequest) -> str:
    return _normal(public_address(request))


def _normal(address: str) -> str:
    """As browsers write an origin: in lower case, without the port that goes without saying."""
    parts = urlsplit(address.lower())
    port = "" if parts.port in {None, _PORTS.get(parts.scheme)} else f":{parts.port}"
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{port}"


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


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
