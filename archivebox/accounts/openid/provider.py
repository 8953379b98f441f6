"""Owns what an OpenID provider is asked, and what of its answers is believed.

The protocol is Authlib's and joserfc's: OpenID Connect Core 1.0, section 3.1 (authorization code flow), Discovery 1.0,
PKCE (RFC 7636). They cost 0.3 s and 18 MB: import it where a provider is set.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import BadSignatureError, ClaimError, ExpiredTokenError, InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from requests import RequestException

from archivebox.accounts.openid.provider_settings import Claims, OpenIDError, OpenIDSettings, Secrets, claim

log = logging.getLogger(__name__)

ALGORITHMS = tuple(f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512))
"""Signatures by a key that only the provider has; never ``none``, nor one that is made with a shared secret."""
PATIENCE = (3.0, 5.0)
"""Seconds for a connection, and between two pieces of an answer: somebody waits, and holds a thread."""
LEEWAY = 60
"""Seconds that the provider's clock may differ from ours."""
KNOWN_FOR = 3600.0
"""Seconds that what a provider says of itself, and its keys, are remembered."""
SUBJECT_MOST = 255
"""Letters of a subject (OpenID Connect Core 1.0, section 2)."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a provider says of itself (OpenID Connect Discovery 1.0, section 3)."""

    authorization: str
    token: str
    keys: str
    userinfo: str
    end_session: str
    takes_basic: bool
    names_itself: bool


_metadata: dict[str, tuple[float, Metadata]] = {}
_keys: dict[str, KeySet] = {}


class Provider:
    """The provider that is set, asked in the name of one visitor whom it sends back to ``redirect_uri``."""

    def __init__(self, settings: OpenIDSettings, redirect_uri: str) -> None:
        self._settings = settings
        self._redirect_uri = redirect_uri

    def address(self, secrets: Secrets) -> str:
        """Where the visitor goes to say who it is. OpenIDError."""
        with self._sentences():
            metadata = self._metadata()
            address, _ = self._session(metadata).create_authorization_url(
                metadata.authorization,
                state=secrets.state,
                nonce=secrets.nonce,
                code_verifier=secrets.verifier,
            )
        return str(address)

    def claims(self, code: str, secrets: Secrets, says: str = "") -> Claims:
        """Who came back with ``code``. ``says``: who answered, where the answer tells (RFC 9207). OpenIDError."""
        with self._sentences():
            metadata = self._metadata()
            if says != self._settings.issuer and (says or metadata.names_itself):
                raise ValueError(f"another provider answered: {says!r}")
            session = self._session(metadata)
            token = session.fetch_token(
                metadata.token,
                grant_type="authorization_code",
                code=code,
                code_verifier=secrets.verifier,
                redirect_uri=self._redirect_uri,
            )
            told = self._verified(token, secrets.nonce)
            return {**self._userinfo(session, metadata, told), **told}

    def log_out_address(self, back_to: str) -> str:
        """Where the visitor ends its session at the provider (RP-Initiated Logout 1.0); empty where there is none."""
        try:
            with self._sentences():
                address = self._metadata().end_session
        except OpenIDError:
            return ""
        asked = {"client_id": self._settings.client_id, "post_logout_redirect_uri": back_to}
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}" if address else ""

    def _session(self, metadata: Metadata | None = None) -> Any:
        settings = self._settings
        takes_basic = metadata is None or metadata.takes_basic
        with_secret = "client_secret_basic" if takes_basic else "client_secret_post"
        session = OAuth2Session(
            settings.client_id,
            settings.client_secret or None,
            token_endpoint_auth_method=with_secret if settings.client_secret else "none",
            scope=" ".join(settings.scopes),
            redirect_uri=self._redirect_uri,
            code_challenge_method="S256",
            default_timeout=PATIENCE,
        )
        session.max_redirects = 0  # who is asked is who is set
        return session

    def _metadata(self) -> Metadata:
        issuer = self._settings.issuer
        known_at, known = _metadata.get(issuer, (0.0, None))
        if known is None or known_at + KNOWN_FOR < time.monotonic():
            known = _read(issuer, self._get(get_well_known_url(issuer, external=True)))
            _metadata[issuer] = (time.monotonic(), known)
            _keys.pop(issuer, None)
        return known

    def _get(self, address: str) -> dict[str, Any]:
        return _document(self._session().get(address, withhold_token=True))

    def _verified(self, token: dict[str, Any], nonce: str) -> dict[str, Any]:
        """The claims of an ID token that is for us, now, for this visitor, and signed by the provider."""
        decoded = self._decoded(str(token["id_token"]))
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": self._settings.issuer},
                "aud": {"essential": True, "value": self._settings.client_id},
            },
            params={
                "nonce": nonce,
                "client_id": self._settings.client_id,
                "access_token": token.get("access_token"),
            },
        )
        claims.validate(leeway=LEEWAY)
        if not 0 < len(claims["sub"]) <= SUBJECT_MOST:
            raise ValueError("it means nobody")
        return dict(claims)

    def _decoded(self, text: str) -> jwt.Token:
        """Its keys change: one that is not known, or does not fit, is asked for once more."""
        try:
            return jwt.decode(text, self._known_keys(), algorithms=ALGORITHMS)
        except (InvalidKeyIdError, BadSignatureError):
            _keys.pop(self._settings.issuer, None)
            return jwt.decode(text, self._known_keys(), algorithms=ALGORITHMS)

    def _known_keys(self) -> KeySet:
        issuer = self._settings.issuer
        if issuer not in _keys:
            _keys[issuer] = KeySet.import_key_set({"keys": self._get(self._metadata().keys)["keys"]})
        return _keys[issuer]

    def _userinfo(self, session: Any, metadata: Metadata, told: Claims) -> dict[str, Any]:
        """What the provider tells at another address alone, where the ID token lacks something that is wanted."""
        wanted = {self._settings.username_claim, *([self._settings.role_claim] * self._settings.gives_roles)}
        if not metadata.userinfo or all(claim(told, name) is not None for name in wanted):
            return {}
        more = _document(session.get(metadata.userinfo))
        if more.get("sub") != told["sub"]:
            raise ValueError("its userinfo is about another person")
        return more

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Say what went wrong in a sentence for the visitor; the log has the reason for who looks after the server."""
        name = self._settings.name
        try:
            yield
        except RequestException as error:
            sentence = f"{name} does not answer as it should. Try again in a minute."
            raise self._refused(error, sentence, 502) from None
        except OAuthError as error:
            was_used = error.error == "invalid_grant"
            raise self._refused(error, _USED.format(name) if was_used else _UNKNOWN.format(name)) from None
        except ClaimError as error:
            clocks = isinstance(error, ExpiredTokenError) or error.claim in {"iat", "nbf"}
            raise self._refused(error, _CLOCKS.format(name) if clocks else _UNTRUSTED.format(name)) from None
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise self._refused(error, _UNTRUSTED.format(name)) from None

    def _refused(self, error: Exception, sentence: str, status: int = 403) -> OpenIDError:
        log.warning("OpenID: %s %s: %s action=openid_refused", self._settings.issuer, type(error).__name__, error)
        return OpenIDError(sentence, status)


_USED = "This answer of {} was used before or arrived too late. Log in again."
_UNKNOWN = (
    "{} did not accept this server's credentials. Its administrator should check OIDC_CLIENT_ID and "
    "OIDC_CLIENT_SECRET; logs/web.log has the reason."
)
_CLOCKS = (
    "The clocks of {} and of this server differ, or the answer arrived too late. Log in again; if that does not help, "
    "ask the administrator of this server to set its clock."
)
_UNTRUSTED = (
    "The answer of {} does not match the request, so it was refused. Log in again; if that does not help, the "
    "administrator of this server finds the reason in logs/web.log."
)


def forget_providers() -> None:
    """Ask anew what providers say of themselves."""
    _metadata.clear()
    _keys.clear()


def _document(answer: Any) -> dict[str, Any]:
    answer.raise_for_status()
    document = answer.json()
    if not isinstance(document, dict):
        raise TypeError("it answered with something else than a JSON object")
    return document


def _read(issuer: str, document: dict[str, Any]) -> Metadata:
    """ValueError where it is the document of another provider, or leads from https to http."""
    if document["issuer"] != issuer:
        raise ValueError(f"it calls itself {document['issuer']}: set OIDC_ISSUER to that if it is the one")
    said = {
        "authorization": str(document["authorization_endpoint"]),
        "token": str(document["token_endpoint"]),
        "keys": str(document["jwks_uri"]),
        "userinfo": str(document.get("userinfo_endpoint") or ""),
        "end_session": str(document.get("end_session_endpoint") or ""),
    }
    schemes = {"https"} if urlsplit(issuer).scheme == "https" else {"http", "https"}
    for address in filter(None, said.values()):
        if urlsplit(address).scheme not in schemes:
            raise ValueError(f"{address} is no {' or '.join(sorted(schemes))} address")
    methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    names_itself = document.get("authorization_response_iss_parameter_supported") is True
    return Metadata(**said, takes_basic="client_secret_basic" in methods, names_itself=names_itself)
