"""Owns a device that keeps one passkey, in software: it makes it, and signs what pages ask for."""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

PRESENT, VERIFIED, HAS_KEY = 0x01, 0x04, 0x40
"""Flags of authenticator data (WebAuthn, section 6.1)."""


@dataclass
class Device:
    """What it says; tests change it."""

    origin: str
    host: str = "localhost"
    count: int = 0
    """Of signatures; stays 0 where it is 0."""
    verifies: bool = True
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    name: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def create(self, options: str) -> str:
        """The answer to ``navigator.credentials.create``."""
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]  # fido2's
        made = AttestedCredentialData.create(Aaguid.NONE, self.name, public)
        attested = AttestationObject.create("none", self._data(made), {})
        client = self._client("webauthn.create", options)
        return self._answer({"clientDataJSON": client, "attestationObject": bytes(attested)})

    def get(self, options: str) -> str:
        """The answer to ``navigator.credentials.get``."""
        self.count += bool(self.count)
        data, client = self._data(), self._client("webauthn.get", options)
        signature = self.key.sign(bytes(data) + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer({"clientDataJSON": client, "authenticatorData": bytes(data), "signature": signature})

    def _data(self, made: AttestedCredentialData | None = None) -> AuthenticatorData:
        flags = PRESENT | (VERIFIED if self.verifies else 0) | (HAS_KEY if made else 0)
        party = hashlib.sha256(self.host.encode()).digest()
        data: AuthenticatorData = AuthenticatorData.create(
            party, AuthenticatorData.FLAG(flags), self.count, made or b""
        )
        return data

    def _client(self, kind: str, options: str) -> bytes:
        challenge = websafe_decode(json.loads(options)["challenge"])
        return bytes(CollectedClientData.create(kind, challenge, self.origin))

    def _answer(self, response: dict[str, bytes]) -> str:
        name = websafe_encode(self.name)
        answer: dict[str, Any] = {"id": name, "rawId": name, "type": "public-key", "clientExtensionResults": {}}
        return json.dumps(answer | {"response": {key: websafe_encode(value) for key, value in response.items()}})
