"""Owns what is asked of an authenticator by WebAuthn, and whether its answer is right (W3C WebAuthn, section 7).

Imported only where a passkey is made or used: fido2 reads the list of public suffixes, which takes some 30 ms.
"""

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

_MALFORMED = (
    ValueError, KeyError, TypeError, AttributeError, AssertionError, IndexError, NotImplementedError, RecursionError,
    struct.error,
)  # fmt: skip
"""What fido2 raises for an answer that is none, or a wrong one."""


class CeremonyError(ValueError):
    """The answer of the authenticator is not right; for the log, not for people."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """What an authenticator has made, base64url as browsers say it."""

    credential_id: str
    public_key: str
    sign_count: int


class Ceremony:
    """Making and using passkeys of one host (the relying party) on pages of one origin."""

    def __init__(self, host: str, origin: str) -> None:
        party = PublicKeyCredentialRpEntity(id=host, name="ArchiveBox")
        self._server = Fido2Server(party, verify_origin=lambda theirs: theirs == origin)

    def creation_options(self, user: tuple[bytes, str], known: Iterable[str], challenge: bytes) -> str:
        """JSON for ``navigator.credentials.create``. ``user``: handle and name; ``known``: keys that it has already."""
        handle, name = user
        options, _ = self._server.register_begin(
            PublicKeyCredentialUserEntity(id=handle, name=name, display_name=name),
            _described(known),
            resident_key_requirement=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.PREFERRED,
            challenge=challenge,
        )
        return json.dumps(dict(options)["publicKey"])

    def register(self, challenge: bytes, answer: str) -> NewKey:
        """The new key. CeremonyError."""
        try:
            made = self._server.register_complete(_state(challenge, is_alone=False), _read(answer))
            key = made.credential_data
            assert key is not None  # noqa: S101 - fido2 has refused it then
            return NewKey(websafe_encode(key.credential_id), websafe_encode(bytes(key)), made.counter)
        except _MALFORMED as error:
            raise CeremonyError(f"{type(error).__name__}: {error}") from None

    def request_options(self, known: Iterable[str], challenge: bytes, *, is_alone: bool) -> str:
        """JSON for ``navigator.credentials.get``. ``is_alone``: no password was asked, so that the device asks."""
        options, _ = self._server.authenticate_begin(
            _described(known) or None, user_verification=_verification(is_alone=is_alone), challenge=challenge
        )
        return json.dumps(dict(options)["publicKey"])

    def verify(self, challenge: bytes, key: str, answer: str, *, is_alone: bool) -> int:
        """How many signatures the authenticator has counted with this one. CeremonyError."""
        try:
            known = AttestedCredentialData(websafe_decode(key))
            read = _read(answer)
            self._server.authenticate_complete(_state(challenge, is_alone=is_alone), [known], read)
            return AuthenticationResponse.from_dict(read).response.authenticator_data.counter
        except _MALFORMED as error:
            raise CeremonyError(f"{type(error).__name__}: {error}") from None


def _read(answer: str) -> Mapping[str, Any]:
    read = json.loads(answer)
    if not isinstance(read, dict):
        raise TypeError("not an object")
    return read


def _state(challenge: bytes, *, is_alone: bool) -> dict[str, object]:
    """What fido2 compares the answer with."""
    return {"challenge": websafe_encode(challenge), "user_verification": _verification(is_alone=is_alone)}


def _verification(*, is_alone: bool) -> UserVerificationRequirement:
    return UserVerificationRequirement.REQUIRED if is_alone else UserVerificationRequirement.PREFERRED


def _described(known: Iterable[str]) -> list[PublicKeyCredentialDescriptor]:
    public_key = PublicKeyCredentialType.PUBLIC_KEY
    return [PublicKeyCredentialDescriptor(type=public_key, id=websafe_decode(name)) for name in known]
