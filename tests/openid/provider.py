"""A small OpenID Connect provider on loopback that speaks the protocol as specified, and lies where told to.

Authorization code flow with PKCE (S256), discovery, JWKS, userinfo, RP-initiated logout. Whoever comes is logged in as
the one of ``person``; a code works once, for the client, the address and the verifier that it was made for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from archivebox.lib.jsonl import JSON
from tests.loopback import serving

CLIENT, SECRET = "archivebox", "swordfish of the client"
ALGORITHMS = ["RS256", "HS256", "none"]


@dataclass
class StandIn:
    """What it knows; tests change it between requests."""

    issuer: str = ""
    person: dict[str, JSON] = field(default_factory=lambda: {"sub": "248289761001", "preferred_username": "jane"})
    userinfo: dict[str, JSON] = field(default_factory=dict)
    lies: dict[str, JSON] = field(default_factory=dict)
    """Claims of the ID token, over those that belong there."""
    answers: str = ""
    """An error instead of a code."""
    metadata: dict[str, JSON] = field(default_factory=dict)
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "first"}))
    signs: RSAKey | OctKey | None = None
    """Another key than the one that is told."""
    algorithm: str = "RS256"
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Paths, in order."""

    def document(self) -> dict[str, JSON]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/end",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            **self.metadata,
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the visitor is sent back to."""
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert "openid" in asked["scope"].split()
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        told = {"error": self.answers} if self.answers else {"code": code}
        return f"{asked['redirect_uri']}?{urlencode(told | {'state': asked['state']})}"

    def token(self, given: dict[str, str], authorization: str) -> tuple[int, dict[str, JSON]]:
        client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if (unquote_plus(client), unquote_plus(secret)) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        asked = self.codes.pop(given["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(given["code_verifier"].encode()).digest())
        if (
            asked is None
            or asked["redirect_uri"] != given["redirect_uri"]
            or asked["code_challenge"] != challenge.rstrip(b"=").decode()
        ):
            return 400, {"error": "invalid_grant"}
        return 200, {"access_token": "an-access-token", "token_type": "Bearer", "id_token": self._id_token(asked)}

    def _id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "exp": now + 300, "iat": now, "nonce": asked["nonce"]}
        key = self.signs or self.key
        return jwt.encode(
            {"alg": self.algorithm, "kid": key.kid}, claims | self.person | self.lies, key, algorithms=ALGORITHMS
        )


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """A provider that answers at ``issuer`` until the block ends."""
    provider = StandIn()
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))) as url:
        provider.issuer = url
        yield provider


def _handler(provider: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            provider.asked.append(address.path)
            asked = _fields(address.query)
            if address.path == "/authorize":
                self._lead(provider.authorize(asked))
            elif address.path == "/end":
                self._lead(asked["post_logout_redirect_uri"])
            elif address.path == "/userinfo":
                assert self.headers["Authorization"] == "Bearer an-access-token"
                self._tell(200, {"sub": provider.person["sub"], **provider.userinfo})
            elif address.path == "/keys":
                key = json.loads(json.dumps(provider.key.as_dict(private=False)))
                self._tell(200, {"keys": [key]})
            elif address.path == "/.well-known/openid-configuration":
                self._tell(200, provider.document())
            elif address.path == "/elsewhere":
                self._lead(f"{provider.issuer}/userinfo")
            else:
                self._tell(404, {})

        def do_POST(self) -> None:
            provider.asked.append(self.path)
            if self.path != "/token":
                self._tell(404, {})
                return
            given = _fields(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self._tell(*provider.token(given, self.headers["Authorization"]))

        def _lead(self, address: str) -> None:
            self.send_response(302)
            self.send_header("Location", address)
            self.end_headers()

        def _tell(self, status: int, document: dict[str, JSON]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

        def log_message(self, *_message: object) -> None:
            """Say nothing."""

    return Handler


def _fields(text: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(text).items()}
